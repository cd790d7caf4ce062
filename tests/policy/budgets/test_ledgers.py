"""What every ledger does, whatever it keeps its counts in."""

from __future__ import annotations

import random

from jupyter_webresearch.policy.budgets.judging import KEPT_SECONDS
from jupyter_webresearch.policy.budgets.limit import Limit, Shortage, Use
from jupyter_webresearch.policy.budgets.memory import MemoryLedger
from tests.policy.budgets.rigs import Rig, SetClock

TOTAL = Limit("WebBudgets.kernel_total", "session:a:total", 5, None)
MINUTE = Limit("WebBudgets.server_per_minute", "server:minute", 3, 60.0)
SITE = Limit("WebBudgets.site_per_minute", "site:example.org", 4, 30.0)


def costing(limit: Limit, cost: int) -> Limit:
    return Limit(limit.setting, limit.key, limit.size, limit.seconds, cost)


async def used(rig: Rig, *limits: Limit) -> list[int]:
    return [use.used for use in await rig.ledger.uses(limits)]


async def test_exactly_the_size_passes_and_what_is_refused_is_free_everywhere(rig: Rig) -> None:
    answers = [await rig.ledger.take([SITE, MINUTE, TOTAL]) for _ in range(10)]
    assert answers[:3] == [None] * 3
    assert all(answer is not None and answer.limit == MINUTE for answer in answers[3:])
    assert await used(rig, TOTAL, MINUTE, SITE) == [3, 3, 3]


async def test_room_comes_back_after_exactly_the_seconds_told(rig: Rig) -> None:
    for _ in range(3):
        assert await rig.ledger.take([MINUTE]) is None
        rig.advance(5)
    shortage = await rig.ledger.take([MINUTE])
    assert shortage is not None
    assert rig.told(shortage.retry_after) == 45
    rig.advance(45 - rig.margin)
    assert await rig.ledger.take([MINUTE]) is not None
    rig.advance(rig.margin)
    assert await rig.ledger.take([MINUTE]) is None
    assert await rig.ledger.take([MINUTE]) is not None  # the two others are still in the window


async def test_a_cost_of_several_waits_for_all_of_them(rig: Rig) -> None:
    for _ in range(3):
        assert await rig.ledger.take([MINUTE]) is None
        rig.advance(10)
    shortage = await rig.ledger.take([costing(MINUTE, 2)])
    assert shortage is not None
    assert rig.told(shortage.retry_after) == 40
    rig.advance(40)
    assert await rig.ledger.take([costing(MINUTE, 2)]) is None
    assert await used(rig, MINUTE) == [3]


async def test_of_several_shortages_the_longest_is_told_and_totals_before_all(rig: Rig) -> None:
    for _ in range(3):
        assert await rig.ledger.take([MINUTE, TOTAL]) is None
    rig.advance(40)
    for _ in range(4):
        assert await rig.ledger.take([SITE]) is None
    shortage = await rig.ledger.take([MINUTE, SITE, TOTAL])
    assert shortage is not None
    assert shortage.limit == SITE  # 30 s, the other only 20
    assert await rig.ledger.take([costing(TOTAL, 2)]) is None
    assert await rig.ledger.take([MINUTE, SITE, TOTAL]) == Shortage(TOTAL, None)


async def test_what_is_larger_than_the_limit_never_fits(rig: Rig) -> None:
    assert await rig.ledger.take([MINUTE, costing(SITE, 5)]) == Shortage(costing(SITE, 5), None)
    assert await used(rig, MINUTE, SITE) == [0, 0]


async def test_to_ask_costs_nothing(rig: Rig) -> None:
    assert await rig.ledger.take([costing(MINUTE, 0), costing(TOTAL, 0)]) is None
    assert await rig.ledger.take([]) is None
    assert await rig.ledger.uses([MINUTE, TOTAL]) == [Use(MINUTE, 0, None), Use(TOTAL, 0, None)]
    assert await rig.ledger.uses([]) == []


async def test_a_limit_that_was_made_smaller_waits_until_its_own_size_fits(rig: Rig) -> None:
    for _ in range(3):
        assert await rig.ledger.take([MINUTE]) is None
        rig.advance(10)
    smaller = Limit(MINUTE.setting, MINUTE.key, 1, MINUTE.seconds)
    shortage = await rig.ledger.take([smaller])
    assert shortage is not None
    assert rig.told(shortage.retry_after) == 50


async def test_totals_are_given_back_and_windows_are_not(rig: Rig) -> None:
    assert await rig.ledger.take([costing(TOTAL, 4), MINUTE]) is None
    await rig.ledger.give_back([costing(TOTAL, 3), MINUTE])
    assert await used(rig, TOTAL, MINUTE) == [1, 1]
    await rig.ledger.give_back([costing(TOTAL, 3)])  # never below nothing: that would be room that nobody granted
    await rig.ledger.give_back([])
    assert await used(rig, TOTAL) == [0]
    assert await rig.ledger.take([costing(TOTAL, 6)]) is not None


async def test_microdollars_of_a_million_dollars_are_counted_to_the_last(rig: Rig) -> None:
    dollars = Limit("WebBudgets.session_dollars", "session:a:dollars", 10**12, None)
    assert await rig.ledger.take([costing(dollars, 10**12 - 1)]) is None
    assert await rig.ledger.take([costing(dollars, 2)]) is not None
    assert await rig.ledger.take([costing(dollars, 1)]) is None
    await rig.ledger.give_back([costing(dollars, 10**12 - 3)])
    assert await used(rig, dollars) == [3]


async def test_the_oldest_unit_says_when_room_comes(rig: Rig) -> None:
    assert await rig.ledger.take([MINUTE, TOTAL]) is None
    rig.advance(20)
    assert await rig.ledger.take([MINUTE]) is None
    window, total = await rig.ledger.uses([MINUTE, TOTAL])
    assert window.used == 2
    assert rig.told(window.frees_in) == 40
    assert total == Use(TOTAL, 1, None)
    rig.advance(40)
    assert await used(rig, MINUTE) == [1]


async def test_what_begins_with_a_prefix_is_forgotten_and_nothing_else(rig: Rig) -> None:
    keys = ["session:a:total", "session:a:minute", "session:ab:total", "session:*:total", "session:A:total"]
    limits = [Limit("x", key, 9, 60.0 if key.endswith("minute") else None) for key in keys]
    assert await rig.ledger.take(limits) is None
    await rig.ledger.forget("session:a:")
    assert await used(rig, *limits) == [0, 0, 1, 1, 1]
    await rig.ledger.forget("session:*:")
    await rig.ledger.forget("session:[aA]:")
    await rig.ledger.forget("session:none:")
    assert await used(rig, *limits) == [0, 0, 1, 0, 1]


async def test_totals_that_nobody_touches_are_dropped_in_the_end() -> None:
    clock = SetClock()
    ledger = MemoryLedger(clock)
    other = Limit("x", "session:b:total", 5, None)
    assert await ledger.take([TOTAL, other]) is None
    clock.advance(KEPT_SECONDS / 2)
    assert await ledger.take([other]) is None
    clock.advance(KEPT_SECONDS / 2 + 1)
    assert await ledger.take([MINUTE]) is None
    assert [use.used for use in await ledger.uses([TOTAL, other])] == [0, 2]


class Model:
    """The rules as one would say them, with no thought of speed."""

    def __init__(self) -> None:
        self.stamps: dict[str, list[int]] = {}
        self.totals: dict[str, int] = {}

    def used(self, limit: Limit, now: int) -> int:
        if limit.seconds is None:
            return self.totals.get(limit.key, 0)
        return sum(now < stamp + limit.seconds * 1_000_000 for stamp in self.stamps.get(limit.key, []))

    def fits_at(self, limit: Limit, now: int) -> int | None:
        moments = [now]
        if limit.seconds is not None:
            ends = [round(stamp + limit.seconds * 1_000_000) for stamp in self.stamps.get(limit.key, [])]
            moments += sorted(end for end in ends if end > now)
        return next((moment for moment in moments if self.used(limit, moment) + limit.cost <= limit.size), None)

    def take(self, limits: list[Limit], now: int) -> tuple[Limit, float | None] | None:
        moments = [self.fits_at(limit, now) for limit in limits]
        for limit, moment in zip(limits, moments, strict=True):
            if moment is None:
                return limit, None
        latest = max(moment for moment in moments if moment is not None)
        if latest > now:
            return limits[moments.index(latest)], (latest - now) / 1_000_000
        for limit in limits:
            if limit.seconds is None:
                self.totals[limit.key] = self.totals.get(limit.key, 0) + limit.cost
            else:
                self.stamps.setdefault(limit.key, []).extend([now] * limit.cost)
        return None


async def test_it_answers_as_the_model_does_at_random(rig: Rig) -> None:
    # The windows end between the steps that a Redis takes, whose clock runs meanwhile; the others meet the edges too.
    chance, model = random.Random(20260301), Model()
    steps = [5, 10, 40, 95, 205] if rig.margin < 1 else [10, 20, 50, 110]
    limits = [
        Limit("a", "session:a:total", 40, None),
        Limit("b", "server:minute", 6, 205.0),
        Limit("c", "site:x", 4, 95.0),
        Limit("d", "site:y", 5, 305.0),
        Limit("e", "session:a:dollars", 900, None),
    ]
    passed = 0
    for _ in range(250):
        if chance.random() < 0.5:
            rig.advance(chance.choice(steps))
        asked = [
            costing(limit, chance.choice([0, 1, 1, 1, 2, 7]) * (10 if limit.seconds is None else 1))
            for limit in chance.sample(limits, chance.randint(1, len(limits)))
        ]
        if chance.random() < 0.1:
            totals = [limit for limit in asked if limit.seconds is None]
            await rig.ledger.give_back(totals)
            for limit in totals:
                model.totals[limit.key] = max(0, model.totals.get(limit.key, 0) - limit.cost)
        now = rig.now()
        expected, answer = model.take(asked, now), await rig.ledger.take(asked)
        passed += answer is None
        assert (answer and answer.limit) == (expected and expected[0])
        if answer is not None and expected is not None:
            assert rig.told(answer.retry_after) == rig.told(expected[1])
        now = rig.now()
        assert await used(rig, *limits) == [model.used(limit, now) for limit in limits]
    assert 50 < passed < 200
