"""What the policy says of a URL before any DNS query or packet: the guard's decision, then that of the lists."""

from __future__ import annotations

from jupyter_webresearch.errors import Refused
from jupyter_webresearch.models import Verdict
from jupyter_webresearch.policy.asks import Asks
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.lists import Lists
from jupyter_webresearch.policy.urls import CheckedURL

__all__ = ["URLCheck"]


class URLCheck:
    """Judge URLs as a GET from a notebook's cell would meet them.

    Parameters
    ----------
    guard
        Decides about URLs as such.
    lists
        Decide about hosts.
    """

    def __init__(self, guard: Guard, lists: Lists) -> None:
        self._guard = guard
        self._lists = lists

    def check(self, url: str, asks: Asks | None = None) -> CheckedURL:
        """Read a URL and decide all that can be decided without DNS.

        Parameters
        ----------
        url
            As it was typed.
        asks
            Of a session; by default of one that has asked for nothing.

        Raises
        ------
        BadInput, Refused
            As :meth:`~jupyter_webresearch.policy.guard.Guard.check_url` and
            :meth:`~jupyter_webresearch.policy.lists.Lists.check`.
        """
        checked = self._guard.check_url(url)
        self._lists.check(checked.host, asks or Asks(), method="GET", agent=False)
        return checked

    def verdict(self, url: str, asks: Asks | None = None) -> Verdict:
        """Say what :meth:`check` decides, as data; the code is ``ok`` when it is allowed.

        Parameters
        ----------
        url, asks
            As for :meth:`check`.
        """
        verdict = self._guard.verdict(url)
        if verdict.verdict == "allowed":
            try:
                self.check(url, asks)
            except Refused as error:
                return Verdict(url, "refused", error.code, error.message)
        return verdict
