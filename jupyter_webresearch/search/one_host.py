"""Services whose results are all of one host: asked for another site, they have nothing."""

from __future__ import annotations

from jupyter_webresearch.search.answer import ProviderAnswer
from jupyter_webresearch.search.builtin import About
from jupyter_webresearch.search.question import Question

__all__ = ["elsewhere"]


def elsewhere(about: About, host: str, question: Question) -> ProviderAnswer | None:
    """Return the empty answer to a question for another site; None when the service is to be asked.

    Parameters
    ----------
    about
        Whose service it is.
    host
        Of all its results.
    question
        With or without a site.
    """
    if not question.site or host == question.site or host.endswith("." + question.site):
        return None
    warning = f"{about.display_name} has pages of {host} only: it was not asked"
    return ProviderAnswer(about.name, (), warnings=(warning,))
