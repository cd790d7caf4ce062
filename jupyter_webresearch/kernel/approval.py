"""Asking a person for a host, where ``WebPolicy.ask`` is ``prompt`` and a person is there to be asked."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_webresearch.errors import Refused, WebResearchError
from jupyter_webresearch.models import READS, FetchRequest
from jupyter_webresearch.policy.policy_change import PolicyChange

if TYPE_CHECKING:
    from jupyter_webresearch.kernel.client import Client
    from jupyter_webresearch.page import Page

__all__ = ["Approval", "Ask", "ask_at_terminal", "ask_in_shell", "question"]

T = TypeVar("T")

TRIES = 3  # answers that are neither yes nor no, after which it is a no
AGAIN = "y or n? "

Ask = Callable[[str], "bool | None"]
"""Asks a person a question; None where nobody can be asked."""


def ask_in_shell(shell: Any) -> Ask:
    """Return how to ask whoever runs the cells of a shell."""

    def ask(question: str) -> bool | None:
        from IPython.core.error import StdinNotImplementedError

        kernel = getattr(shell, "kernel", None)
        if kernel is None:
            return ask_at_terminal(question)
        try:
            return _answer_to(question, kernel.raw_input)
        except (StdinNotImplementedError, EOFError):  # nbclient, papermill, a front end that has gone
            return None

    return ask


def ask_at_terminal(question: str) -> bool | None:
    """Ask whoever sits at the terminal; what is printed as result stays free of the question."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return None

    def answer(question: str) -> str:
        """Write a question and read a line.

        Raises
        ------
        EOFError
            When there is none.
        """
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    try:
        return _answer_to(question, answer)
    except EOFError:
        return None


def _is_terminal(stream: Any) -> bool:
    return stream is not None and bool(stream.isatty())


def _answer_to(question: str, answer: Callable[[str], str]) -> bool:
    """Ask until the answer is yes or no, which an empty line is too; whoever never says either says no."""
    for asked in (question, *[AGAIN] * (TRIES - 1)):
        said = answer(asked).strip().lower()
        if said in ("y", "yes"):
            return True
        if said in ("", "n", "no"):
            return False
    return False


def question(host: str) -> str:
    """Return what a person is asked about a host."""
    return f"Allow this session to read {host}? By WebPolicy.ask a person decides, once for this session. [y/N] "


class Approval:
    """Asks for the hosts that one call needs, each once.

    Parameters
    ----------
    client
        What reads, and is told the answers.
    ask
        How to ask.
    """

    def __init__(self, client: Client, ask: Ask) -> None:
        self._client = client
        self._ask = ask
        self._allowed: dict[str, bool | None] = {}

    def reading(self, request: FetchRequest, read: Callable[[], T]) -> T:
        """Read, and read again for each host that is allowed on the way.

        Parameters
        ----------
        request
            What is read.
        read
            Reads it.

        Raises
        ------
        Refused
            ``needs_approval`` when a host was not allowed, or what led to it can't be sent twice; whatever the reading
            raises.
        """
        tried: set[str] = set()
        while True:
            try:
                return read()
            except Refused as error:
                again, told = self._told(request, error, tried)
                if not again:
                    raise told from None

    def reading_many(
        self,
        requests: Sequence[FetchRequest],
        read: Callable[[Sequence[FetchRequest]], list[Page | WebResearchError]],
    ) -> list[Page | WebResearchError]:
        """Read many, ask after all for the hosts that they need, and read those again that were allowed.

        Parameters
        ----------
        requests
            What is read.
        read
            Reads some of them: one outcome each, in order.
        """
        outcomes = read(requests)
        left = list(range(len(requests)))
        tried: defaultdict[int, set[str]] = defaultdict(set)
        while left:
            again = []
            for index in left:
                outcome = outcomes[index]
                if isinstance(outcome, Refused):
                    repeat, outcomes[index] = self._told(requests[index], outcome, tried[index])
                    again += [index] * repeat
            for index, outcome in zip(again, read([requests[index] for index in again]) if again else (), strict=True):
                outcomes[index] = outcome
            left = again
        return outcomes

    def _told(self, request: FetchRequest, error: Refused, tried: set[str]) -> tuple[bool, Refused]:
        """Ask for the host that an error names; return whether to read again, and what is raised if not.

        ``tried`` are the hosts for which this request was read again already.
        """
        host = error.host
        if error.code != "needs_approval" or not host or host in tried:
            return False, error
        allowed = self._allowed[host] if host in self._allowed else self._answer(host)
        if allowed is None:
            return False, _saying(error, "nobody can be asked here")
        if not allowed:
            message = f"you said no to {host}; %webresearch allow {host} lifts that"
            return False, Refused(error.code, message, setting="", host=host)
        if not _can_be_sent_again(request, host):
            return False, _saying(error, f"{host} is allowed now, but nothing is sent twice unasked: run this again")
        tried.add(host)
        return True, error

    def _answer(self, host: str) -> bool | None:
        answer = self._allowed[host] = self._ask(question(host))
        if answer:
            self._client.change_policy(PolicyChange(allow=(host,), answered=True))
        elif answer is not None:
            self._client.change_policy(PolicyChange(deny=(host,)))
        return answer


def _can_be_sent_again(request: FetchRequest, host: str) -> bool:
    """Whether sending a request anew changes nothing: it only reads, or was stopped before its first hop."""
    from jupyter_webresearch.policy.urls import parse_url

    return request.method.upper() in READS or parse_url(request.url).host == host.strip("[]")


def _saying(error: Refused, more: str) -> Refused:
    return Refused(error.code, f"{error.message}; {more}", setting=error.setting, host=error.host)
