"""The storage that several servers share: whether it can be used, and whether it answers.

The package ``redis`` is an extra, and takes time to load: it is imported where a Redis is configured, and nowhere else.
"""

from __future__ import annotations

from jupyter_webresearch.config import WebBudgets
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.budgets.limit import Ledger, Limit

__all__ = ["MEMORY", "meanwhile", "redis_ledger", "try_ledger"]

MEMORY = "memory://"
"""What ``WebBudgets.storage`` says when nothing is shared between servers."""


def redis_ledger(url: str) -> Ledger:
    """Return a ledger on Redis; nothing is connected to yet.

    Parameters
    ----------
    url
        ``WebBudgets.storage``, when it is not :data:`MEMORY`.

    Raises
    ------
    Failed
        ``config`` for a URL that can't be used, or when the package for it is missing.
    """
    try:
        from jupyter_webresearch.policy.budgets.redis import RedisLedger
    except ModuleNotFoundError:
        raise Failed(
            "config",
            "WebBudgets.storage names a Redis, and the package redis is not installed here: install it "
            "(pip install 'redis>=6'), or count with memory://",
            setting="WebBudgets.storage",
        ) from None
    return RedisLedger(url)


def meanwhile(settings: WebBudgets) -> str:
    """Say what holds while the storage does not answer."""
    then = "nothing is read" if settings.when_unavailable == "refuse" else "each process counts for itself"
    return f"until then {then} (WebBudgets.when_unavailable)"


async def try_ledger(ledger: Ledger) -> None:
    """Take nothing, which a storage that can only be read refuses too, and close the ledger.

    Raises
    ------
    Failed
        ``budget_unavailable`` when it does not answer.
    """
    try:
        await ledger.take([Limit("WebBudgets.storage", "trial", 1, 60.0, cost=0)])
    finally:
        await ledger.close()
