"""What counts where, what it costs, and what a person is told."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.config import WebBudgets
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.policy.budgets.budgets import Budgets
from jupyter_webresearch.policy.budgets.limit import Limit, Shortage
from jupyter_webresearch.policy.budgets.memory import MemoryLedger
from tests.policy.budgets.rigs import SetClock

WINDOWS = ("kernel_per_minute", "server_per_minute", "server_per_day", "site_per_minute")
NONE = dict.fromkeys((*WINDOWS, "kernel_total", "search_per_minute", "browser_per_minute"), 0)
SITE = "www.example.org"


class Seen(MemoryLedger):
    """Remembers the limits that it was asked."""

    def __init__(self, clock: SetClock) -> None:
        super().__init__(clock)
        self.limits: list[Limit] = []

    async def take(self, limits: Sequence[Limit]) -> Shortage | None:
        self.limits += limits
        return await super().take(limits)


def counting(clock: SetClock | None = None, **settings: Any) -> tuple[Budgets, Seen]:
    clock = clock or SetClock()
    ledger = Seen(clock)
    return Budgets(WebBudgets(**settings), ledger, clock), ledger


async def refusal(counted: Budgets, kind: str = "fetch", session: str = "kernel:a", site: str = SITE) -> Refused:
    with pytest.raises(Refused) as refused:
        await counted.open(kind, session, site)
    assert refused.value.code == "over_budget"
    return refused.value


@pytest.mark.parametrize(
    ("kind", "site", "own"),
    [
        ("fetch", SITE, {"site_per_minute"}),
        ("image", SITE, {"site_per_minute"}),
        ("search", "", {"search_per_minute"}),
        ("browser", SITE, {"site_per_minute", "browser_per_minute"}),
    ],
)
async def test_what_an_operation_counts_in(kind: str, site: str, own: set[str]) -> None:
    counted, ledger = counting(server_per_day=1000)
    assert await counted.open(kind, "kernel:a", site) == 0.0
    everywhere = {"kernel_total", "kernel_per_minute", "server_per_minute", "server_per_day"}
    assert {limit.setting.removeprefix("WebBudgets.") for limit in ledger.limits} == everywhere | own
    assert {limit.cost for limit in ledger.limits} == {1}


async def test_a_hop_counts_in_its_site_alone() -> None:
    counted, ledger = counting(site_per_minute=1)
    await counted.hop(SITE)
    assert ledger.limits == [Limit("WebBudgets.site_per_minute", f"site:{SITE}", 1, 60.0)]
    await counted.hop("other.example.org")
    with pytest.raises(Refused) as refused:
        await counted.hop(SITE)
    assert refused.value.setting == "WebBudgets.site_per_minute"
    assert SITE in refused.value.message


async def test_nought_is_no_limit_and_no_ledger_sees_it() -> None:
    counted, ledger = counting(**NONE, price_per_request=5.0)
    assert await counted.open("fetch", "kernel:a", SITE) == 5.0
    await counted.hop(SITE)
    await counted.settle("kernel:a", 5.0, 7.0)
    assert ledger.limits == []
    assert await counted.report("kernel:a") == []


async def test_an_unknown_kind_is_a_fault_and_passes_nowhere() -> None:
    counted, ledger = counting()
    with pytest.raises(KeyError):
        await counted.open("crawl", "kernel:a", SITE)
    assert ledger.limits == []


@pytest.mark.parametrize("trait", WINDOWS)
async def test_a_refusal_names_budget_and_size_and_tells_the_true_wait(trait: str) -> None:
    clock = SetClock()
    counted, _ = counting(clock, **{**NONE, trait: 1_000})
    for _ in range(999):
        await counted.open("fetch", "kernel:a", SITE)
    clock.advance(7.25)
    await counted.open("fetch", "kernel:a", SITE)
    refused = await refusal(counted)
    wait = 86_393.0 if trait == "server_per_day" else 53.0  # 52.75, rounded up
    assert refused.setting == f"WebBudgets.{trait}"
    assert refused.retry_after == wait
    assert refused.retryable
    assert refused.setting == f"WebBudgets.{trait}"
    assert "1,000" in refused.message
    assert f"{wait:,.0f} s" in refused.message
    clock.advance(wait - 1)
    await refusal(counted)
    clock.advance(1)
    await counted.open("fetch", "kernel:a", SITE)


async def test_kinds_have_windows_of_their_own() -> None:
    counted, _ = counting(search_per_minute=1, browser_per_minute=1)
    await counted.open("search", "kernel:a", "")
    await counted.open("browser", "kernel:a", SITE)
    assert (await refusal(counted, "search", "kernel:b", "")).setting == "WebBudgets.search_per_minute"
    assert (await refusal(counted, "browser", "kernel:b")).setting == "WebBudgets.browser_per_minute"
    await counted.open("fetch", "kernel:a", SITE)


async def test_a_total_never_frees_and_says_so() -> None:
    clock = SetClock()
    counted, _ = counting(clock, kernel_total=2)
    for _ in range(2):
        await counted.open("fetch", "kernel:a", SITE)
    clock.advance(10 * 86_400)
    refused = await refusal(counted)
    assert refused.setting == "WebBudgets.kernel_total"
    assert refused.retry_after is None
    assert not refused.retryable
    assert "waiting" in refused.message
    await counted.open("fetch", "kernel:b", SITE)


async def test_a_kernel_that_ended_is_forgotten_and_no_other() -> None:
    counted, _ = counting(kernel_total=1, server_per_minute=3)
    sessions = ["kernel:a", "kernel:a:b", "kernel"]
    for session in sessions:
        await counted.open("fetch", session, SITE)
    await counted.forget("kernel")
    await counted.forget("kernel:a")
    with pytest.raises(Refused) as refused:  # what it took of the server's window stays taken
        await counted.open("fetch", "kernel:a", SITE)
    assert refused.value.setting == "WebBudgets.server_per_minute"
    assert (await refusal(counted, session="kernel:a:b")).setting == "WebBudgets.kernel_total"


# ---------------------------------------------------------------------- dollars


PRICES = {"session_dollars": 0.01, "price_per_request": 0.004, "price_per_search": {"brave": 0.005, "free": 0}}


async def dollars(counted: Budgets, session: str = "kernel:a") -> float:
    rows = await counted.report(session)
    return float(next(row["used"] for row in rows if row["name"] == "WebBudgets.session_dollars"))


async def test_prices_are_reserved_before_anything_is_sent() -> None:
    counted, _ = counting(**PRICES)
    assert await counted.open("fetch", "kernel:a", SITE) == 0.004
    assert await counted.open("search", "kernel:a", "", ("brave",)) == 0.005
    assert await dollars(counted) == 0.009
    refused = await refusal(counted)
    assert refused.setting == "WebBudgets.session_dollars"
    assert refused.retry_after is None
    assert "0.01 dollars" in refused.message
    assert "0.004" in refused.message
    assert await counted.open("search", "kernel:a", "", ("free",)) == 0.0  # what costs nothing goes on
    assert await counted.open("search", "kernel:a", "", ("unheard of",)) == 0.0
    assert await counted.open("image", "kernel:b", SITE) == 0.004


async def test_what_was_not_spent_is_given_back_and_what_was_spent_beyond_is_charged() -> None:
    counted, _ = counting(**PRICES)
    reserved = await counted.open("browser", "kernel:a", SITE)
    await counted.settle("kernel:a", reserved, 0.0)
    assert await dollars(counted) == 0
    reserved = await counted.open("fetch", "kernel:a", SITE)
    await counted.settle("kernel:a", reserved, reserved)
    assert await dollars(counted) == 0.004
    reserved = await counted.open("fetch", "kernel:a", SITE)
    await counted.settle("kernel:a", reserved, 0.5)
    assert await dollars(counted) == 0.504
    await refusal(counted)


async def test_a_million_small_prices_add_up_to_the_last() -> None:
    counted, _ = counting(**NONE, session_dollars=0.0033, price_per_request=0.0011)
    for _ in range(3):
        await counted.open("fetch", "kernel:a", SITE)
    await refusal(counted)
    assert await dollars(counted) == 0.0033


async def test_a_price_below_what_is_counted_is_not_nothing() -> None:
    counted, _ = counting(session_dollars=0.000002, price_per_request=1e-9)
    await counted.open("fetch", "kernel:a", SITE)
    await counted.open("fetch", "kernel:a", SITE)
    await refusal(counted)


class Silent(MemoryLedger):
    async def give_back(self, limits: Sequence[Limit]) -> None:
        raise Failed("budget_unavailable", "it does not answer")

    async def forget(self, prefix: str) -> None:
        raise Failed("budget_unavailable", "it does not answer")


async def test_what_is_over_never_fails_for_the_storage(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "jupyter_webresearch")
    clock = SetClock()
    counted = Budgets(WebBudgets(**PRICES), Silent(clock), clock)
    await counted.settle("kernel:a", await counted.open("fetch", "kernel:a", SITE), 0.0)
    await counted.forget("kernel:a")
    assert await dollars(counted) == 0.004
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.DEBUG]


# ---------------------------------------------------------------------- report, and where it is counted


async def test_the_report_tells_size_use_and_when_room_comes() -> None:
    clock = SetClock()
    counted, ledger = counting(clock, **PRICES, server_per_day=0)
    await counted.open("fetch", "kernel:a", SITE)
    clock.advance(20)
    before = len(ledger.limits)
    rows = {row["name"]: row for row in await counted.report("kernel:a")}
    assert len(ledger.limits) == before
    assert list(rows) == [
        f"WebBudgets.{name}"
        for name in (
            "kernel_total",
            "kernel_per_minute",
            "server_per_minute",
            "search_per_minute",
            "browser_per_minute",
            "session_dollars",
        )
    ]
    assert rows["WebBudgets.kernel_per_minute"] == {
        "name": "WebBudgets.kernel_per_minute",
        "counts": "operations of this kernel in a minute",
        "size": 60,
        "used": 1,
        "seconds": 60.0,
        "frees_in": 40.0,
    }
    assert rows["WebBudgets.session_dollars"]["size"] == 0.01
    assert rows["WebBudgets.session_dollars"]["frees_in"] is None
    assert rows["WebBudgets.search_per_minute"]["used"] == 0


async def test_memory_is_of_one_engine_and_a_file_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "webresearch" / "budgets.sqlite"
    for shared_file, others in ((None, 0), (path, 1)):
        every = [
            Budgets.of(WebBudgets(server_per_minute=1), shared_file=shared_file, clock=SetClock()) for _ in range(2)
        ]
        await every[0].open("fetch", "kernel:a", SITE)
        row = next(row for row in await every[1].report("kernel:b") if row["name"] == "WebBudgets.server_per_minute")
        assert row["used"] == others
        for counted in every:
            await counted.close()


def test_redis_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "jupyter_webresearch.policy.budgets.redis", raising=False)
    with pytest.raises(Failed) as failed:
        Budgets.of(WebBudgets(storage="redis://127.0.0.1/0"), shared_file=None, clock=SetClock())
    assert failed.value.code == "config"
    assert "pip install 'redis>=6'" in failed.value.message
