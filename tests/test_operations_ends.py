"""However an operation ends, it is begun once and ended once on record, and costs what was sent and no more."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading

import pytest

from jupyter_webresearch.config import WebBudgets, WebJournal, WebPolicy
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.models import FetchRequest
from tests.bench import Bench, Disk, arrived, outcomes
from tests.conftest import HOST, BenchMaker
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

PRICED = WebBudgets(session_dollars=1.0, price_per_request=0.25)


def test_cancelled_while_its_beginning_is_written_it_is_begun_once(bench: BenchMaker) -> None:
    it = bench()
    it.fetch()
    disk = Disk(it.engine)
    disk.hold()
    running = it.begin(f"http://{HOST}/plain")
    assert disk.reached.wait(30)
    running.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        running.result(30)
    disk.goes_on.set()
    it.engine.close()
    assert outcomes(it.events[2:]) == ["started", "failed"]


def test_cancelled_twice_it_is_ended_once(bench: BenchMaker, site: Site) -> None:
    it = bench(budgets=PRICED)
    running = it.begin(f"http://{HOST}/hang")
    arrived(site, "/hang")
    disk = Disk(it.engine)
    disk.hold()
    running.cancel()
    assert disk.reached.wait(30)  # its end is being written
    disk.goes_on.set()
    it.engine.close()  # cancels whatever is still there
    assert outcomes(it.events) == ["started", "failed"]
    assert it.events[-1]["cost"] == 0.25, "it was sent"


def test_closed_while_its_money_is_given_back_it_is_ended_all_the_same(bench: BenchMaker) -> None:
    it = bench(budgets=PRICED, dialler=MappedDialler())
    settling = threading.Event()

    async def settle(*_: object) -> None:
        settling.set()
        await asyncio.Event().wait()

    it.engine._policy.budgets.settle = settle  # type: ignore[assignment]
    it.begin()
    assert settling.wait(30)
    it.engine.close()
    assert outcomes(it.events) == ["started", "failed"]


def test_switched_off_while_its_end_is_written_it_has_come_to_its_end(bench: BenchMaker) -> None:
    it = bench()
    disk = Disk(it.engine)

    def on_phase(phase: str) -> None:
        if phase == "receiving":
            disk.hold()

    request = FetchRequest(f"http://{HOST}/plain")
    running = it.engine.submit(it.engine.fetch(it.session, request, on_phase))
    assert disk.reached.wait(30)
    it.engine.submit(_cancel(it)).result(30)
    disk.goes_on.set()
    assert running.result(30).status == 200
    assert outcomes(it.events) == ["started", "completed"]


async def _cancel(it: Bench) -> None:
    it.engine._operations.cancel(frozenset({"fetch"}))


def test_a_required_journal_that_fills_up_loses_nothing_that_was_read(bench: BenchMaker, site: Site) -> None:
    it = bench(journal=WebJournal(required=True))
    disk = Disk(it.engine)

    def on_phase(phase: str) -> None:
        disk.is_full |= phase == "receiving"

    request = FetchRequest(f"http://{HOST}/echo", method="POST", body=b"an order")
    page = it.engine.submit(it.engine.fetch(it.session, request, on_phase)).result(30)
    assert "an order" in page.markdown
    assert it.fails(f"http://{HOST}/plain").code == "journal_unavailable"
    assert it.fails(f"http://{HOST}/plain", record=page.record).code == "journal_unavailable"
    assert [request.path for request in site.seen] == ["/echo"]
    disk.is_full = False
    assert it.fetch(f"http://{HOST}/plain", record=page.record).markdown == page.markdown
    assert outcomes(it.events[:1]) == ["started"]
    assert "could not be written" in it.events[1]["scope"]


def test_what_is_refused_for_its_address_is_free(bench: BenchMaker) -> None:
    resolver = StubResolver({"in.example.org": ["10.0.0.1"], "rebound.example.org": [["93.184.216.34"], ["10.0.0.1"]]})
    it = bench(budgets=PRICED, resolver=resolver)
    it.fetch("http://rebound.example.org/plain?1")
    before = it.used
    assert before["session_dollars"] == 0.25
    for url in ("http://in.example.org/", "http://rebound.example.org/plain?2"):
        assert it.fails(url).code == "blocked_address"
        assert it.used == before
        assert (it.events[-1]["cost"], it.events[-1]["spent"]) == (0, 0.25)


def test_what_was_sent_costs_whatever_came_of_it(bench: BenchMaker, site: Site) -> None:
    resolver = StubResolver({"gone.example.org": []})
    it = bench(budgets=PRICED, resolver=resolver, dialler=MappedDialler({("93.184.216.34", 80): site.port}))
    operations, dollars = 0, 0.0
    for url, code, cost in (
        ("http://gone.example.org/", "unresolved", 0.0),
        (f"http://{HOST}:443/plain", "unreachable", 0.0),
        (f"http://{HOST}/redirect?to=http://gone.example.org/", "unresolved", 0.25),
        (f"http://{HOST}/redirect?to=http://{HOST}:443/", "unreachable", 0.25),
        (f"http://{HOST}/close", "bad_response", 0.25),
    ):
        assert it.fails(url).code == code
        operations, dollars = operations + 1, dollars + cost
        assert it.used["kernel_total"] == operations, "only what is refused is free"
        assert it.used["session_dollars"] == dollars
        assert (it.events[-1]["cost"], it.events[-1]["spent"]) == (cost, dollars)


def test_over_budget_nobody_is_asked(bench: BenchMaker, site: Site) -> None:
    resolver = StubResolver()
    it = bench(budgets=WebBudgets(kernel_total=1), policy=WebPolicy(robots="full"), resolver=resolver)
    site.serve("/robots.txt", "User-agent: *\nDisallow: /private", "text/plain")
    it.fetch(f"http://{HOST}/plain")
    sent, asked = len(site.seen), len(resolver.asked)
    for number in range(3):
        assert it.fails(f"http://other{number}.example.org/plain").code == "over_budget"
    assert (len(site.seen), len(resolver.asked)) == (sent, asked), "no robots.txt, no name"


def test_a_redirect_over_a_site_s_budget_asks_nothing_there(bench: BenchMaker, site: Site) -> None:
    it = bench(budgets=WebBudgets(site_per_minute=1), policy=WebPolicy(robots="full"))
    site.serve("/robots.txt", "", "text/plain")
    other = "http://other.example.org"
    it.fetch(f"{other}/plain")
    sent = len(site.seen)
    error = it.fails(f"http://{HOST}/redirect?to={other}/plain?more")
    assert (error.code, error.setting) == ("over_budget", "WebBudgets.site_per_minute")
    assert error.message.startswith("redirect refused: ")
    assert error.retry_after is not None
    assert [request.path for request in site.seen[sent:]] == ["/robots.txt", "/redirect"]


def test_where_the_journal_is_required_nothing_is_granted_off_the_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(ask="listed"), journal=WebJournal(required=True))
    disk = Disk(it.engine)
    disk.is_full = True
    for change in ({"allow": (HOST,)}, {"act": (HOST,)}, {"task": "tides"}):
        with pytest.raises(Failed) as caught:
            it.change(**change)
        assert caught.value.code == "journal_unavailable"
    disk.is_full = False
    assert it.fails().code == "not_allowed"
    assert it.engine.check_url(f"http://{HOST}/", it.session.id).code == "not_allowed"
    assert it.change(allow=(HOST,))["task"] == ""
    assert it.fetch().status == 200


def test_an_extraction_is_on_record_before_it_is_done(bench: BenchMaker) -> None:
    it = bench()
    seen: list[list[str]] = []

    def on_phase(phase: str) -> None:
        if phase == "extracting":
            seen.append(outcomes(it.events))

    extraction = it.engine.extract(
        b"<p>Tides of Brest.", url=f"http://{HOST}/", session=it.session, content_type="text/html", on_phase=on_phase
    )
    page = it.engine.submit(extraction).result(60)
    assert "Tides" in page.markdown
    assert seen == [["started"]]
    assert outcomes(it.events) == ["started", "completed"]
    assert {event["kind"] for event in it.events} == {"extract"}
