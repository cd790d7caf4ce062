"""Operations: let out by the policy in its order, and on record from beginning to end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.config import WebBudgets, WebFetch, WebJournal, WebPolicy
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.policy.asks import NotebookAsk
from jupyter_webresearch.policy.policy_change import PolicyChange
from jupyter_webresearch.policy.report_text import policy_text
from tests.bench import URL, arrived, outcomes
from tests.conftest import HOST, BenchMaker, EngineMaker
from tests.server.running import free_port
from tests.sites import Site
from tests.sites.network import StubResolver


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_a_page_is_one_started_and_one_completed(bench: BenchMaker, site: Site) -> None:
    it = bench()
    caller = Caller("kernel", "one", "work/tides.ipynb")
    page = it.fetch(caller=caller)
    started, completed = it.events
    assert outcomes([started, completed]) == ["started", "completed"]
    assert started["operation"] == completed["operation"]
    assert started["arguments"] == completed["arguments"]
    assert len(started["arguments"]) == 64
    for event in (started, completed):
        assert event["kind"] == "fetch"
        assert event["session"] == "kernel:one"
        assert event["kernel"] == "one"
        assert event["notebook"] == "work/tides.ipynb"
        assert event["channel"] == "kernel"
        assert event["method"] == "GET"
        assert event["url"] == URL
        assert event["risk"] == "read"
    assert completed["final_url"] == page.url
    assert completed["status"] == 200
    assert completed["bytes"] == page.body_bytes
    assert completed["source"] == "live"
    assert completed["title"] == page.title
    assert completed["excerpt"]
    assert len(completed["excerpt"]) <= 200
    assert completed["seconds"] > 0
    (request,) = site.seen
    assert request.header("X-Request-ID") == started["operation"], "a site owner's complaint finds the cell"


def test_the_id_is_sent_only_if_the_setting_says_so(bench: BenchMaker, site: Site) -> None:
    bench(fetch=WebFetch(send_request_id=False)).fetch()
    assert site.seen[0].header("X-Request-ID") is None


def test_a_cache_hit_and_reading_on_are_one_completed_event_each(bench: BenchMaker) -> None:
    it = bench()
    page = it.fetch()
    it.fetch()
    it.fetch(record=page.record, offset=10)
    hits = it.events[2:]
    assert outcomes(hits) == ["completed", "completed"]
    assert [event["source"] for event in hits] == ["cache", "cache"]


def test_a_refusal_before_dns_is_on_record_and_asks_nobody(bench: BenchMaker, site: Site) -> None:
    resolver = StubResolver()
    it = bench(policy=WebPolicy(ceiling=["*.example.com"]), resolver=resolver)
    error = it.fails()
    assert (type(error), error.code) == (Refused, "not_allowed")
    assert resolver.asked == []
    assert site.seen == []
    assert outcomes(it.events) == ["started", "refused"]
    refused = it.events[-1]
    assert refused["code"] == "not_allowed"
    assert refused["setting"] == "WebPolicy.ceiling"
    assert refused["reason"]


def test_a_redirect_to_a_host_outside_the_lists_is_refused_at_that_hop(bench: BenchMaker, site: Site) -> None:
    resolver = StubResolver({"other.example.net": ["93.184.216.35"]})
    it = bench(policy=WebPolicy(ceiling=[HOST]), resolver=resolver)
    error = it.fails(f"http://{HOST}/redirect?to=http://other.example.net/article")
    assert error.code == "not_allowed"
    assert error.message.startswith("redirect refused: ")
    assert "other.example.net" not in resolver.asked


def test_memory_answers_only_with_what_may_still_be_read(bench: BenchMaker, site: Site) -> None:
    it = bench()
    led = f"http://other.example.net/redirect?to=http://{HOST}/plain"
    page = it.fetch(led)
    it.change(allow=("other.example.net",))
    sent = len(site.seen)
    assert it.fails(led).code == "not_allowed"
    assert it.fails(led, record=page.record, offset=5).code == "not_allowed"
    assert len(site.seen) == sent
    it.change(allow=(HOST,))
    assert it.fetch(led, record=page.record).markdown == page.markdown


def test_check_url_judges_by_the_lists(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(ceiling=["*.example.org"]))
    assert it.engine.check_url(URL, it.session.id).code == "ok"
    assert it.engine.check_url("https://example.com/").code == "not_allowed"
    it.change(allow=("docs.example.org",))
    assert it.engine.check_url(URL, it.session.id).code == "not_allowed"
    assert it.engine.check_url(URL).code == "ok", "another session has not asked"


def test_what_fails_is_failed_and_says_why_without_an_address(bench: BenchMaker) -> None:
    resolver = StubResolver({"gone.example.org": []})
    it = bench(resolver=resolver)
    assert it.fails("http://gone.example.org/").code == "unresolved"
    failed = it.events[-1]
    assert (failed["outcome"], failed["code"]) == ("failed", "unresolved")


def test_bad_input_is_on_record_too(bench: BenchMaker) -> None:
    it = bench()
    it.fails("http://exa mple.org/")
    assert outcomes(it.events) == ["started", "failed"]
    assert it.events[-1]["code"] == "invalid_url"


def test_a_cancelled_fetch_is_failed_and_says_so(bench: BenchMaker, site: Site) -> None:
    it = bench()
    running = it.begin(f"http://{HOST}/hang")
    arrived(site, "/hang")
    running.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        running.result(30)
    it.engine.close()
    assert outcomes(it.events) == ["started", "failed"]
    assert it.events[-1]["code"] == "cancelled"


def test_switching_off_ends_what_runs_and_refuses_what_comes(bench: BenchMaker, site: Site) -> None:
    it = bench()
    running = it.begin(f"http://{HOST}/hang")
    arrived(site, "/hang")
    user = Caller("rest")
    assert "fetch" not in it.engine.submit(it.engine.switch("fetch", False, user)).result(30)
    with pytest.raises(Refused) as caught:
        running.result(30)
    assert caught.value.code == "disabled"
    assert it.fails().code == "disabled"
    assert it.engine.check_url(URL).code == "disabled"
    assert "fetch" in it.engine.submit(it.engine.switch(None, True, user)).result(30)
    assert it.fetch().status == 200
    told = [event for event in it.events if event["kind"] == "policy"]
    assert [event["scope"] for event in told] == ["fetch switched off", "everything switched on"]


def test_switching_off_one_thing_ends_nothing_else(bench: BenchMaker, site: Site) -> None:
    it = bench()
    running = it.begin(f"http://{HOST}/gate", method="HEAD")
    arrived(site, "/gate")
    it.engine.submit(it.engine.switch("search", False, Caller("rest"))).result(30)
    site.release()
    assert running.result(30).status == 200


def test_what_was_off_for_a_moment_is_cancelled_and_says_so(bench: BenchMaker, site: Site) -> None:
    it = bench()
    told: list[tuple[str, int]] = []

    def on_result(_index: int, outcome: Any) -> None:
        cancelling = getattr(asyncio.current_task(), "cancelling", lambda: 0)  # Python 3.11
        told.append((outcome.code, cancelling()))

    requests = [FetchRequest(f"http://{HOST}/hang")]
    running = it.engine.submit(it.engine.fetch_many(it.session, requests, on_result=on_result))
    arrived(site, "/hang")

    async def off_and_on() -> None:
        it.engine._operations.cancel(frozenset({"fetch"}))

    it.engine.submit(off_and_on()).result(30)
    running.result(30)
    assert told == [("cancelled", 0)], "and the batch that it was of goes on"
    assert it.events[-1]["reason"] == "fetch was switched off for a moment"


def test_what_a_setting_switches_off_stays_off(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(disabled_operations=["fetch"]))
    error = it.fails()
    assert (error.code, error.setting) == ("disabled", "WebPolicy.disabled_operations")
    with pytest.raises(Refused) as caught:
        it.engine.submit(it.engine.switch("fetch", True, Caller("rest"))).result(30)
    assert caught.value.setting == "WebPolicy.disabled_operations"
    assert it.engine.operations() == ("search", "image", "browser")


def test_grants_and_denials_are_approvals(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(ask="prompt"))
    error = it.fails()
    assert (error.code, error.host) == ("needs_approval", HOST)
    it.change(allow=(HOST,), answered=True)
    assert it.fetch().status == 200
    it.change(deny=("other.example.net",))
    assert it.fails("http://other.example.net/").code == "not_allowed"
    granted, denied = (event for event in it.events if event["kind"] == "approval")
    assert (granted["outcome"], granted["url"]) == ("completed", HOST)
    assert (denied["outcome"], denied["url"]) == ("refused", "other.example.net")
    assert "person" in granted["scope"]
    assert "session" in granted["scope"]


def test_of_changes_at_once_none_is_lost(bench: BenchMaker) -> None:
    it = bench()
    hosts = [f"host{number}.example.net" for number in range(8)]
    changes = [it.engine.change_policy(it.session, PolicyChange(allow=(host,))) for host in hosts]
    for running in [it.engine.submit(change) for change in changes]:
        running.result(30)
    assert {it.engine.check_url(f"http://{host}/", it.session.id).code for host in hosts} == {"ok"}


def test_what_a_notebook_asks_while_its_session_changes_holds(bench: BenchMaker) -> None:
    it = bench()
    reached, goes_on = threading.Event(), threading.Event()
    change = it.engine._policy.lists.change

    def slow(*arguments: Any) -> Any:
        reached.set()
        assert goes_on.wait(30)
        return change(*arguments)

    it.engine._policy.lists.change = slow  # type: ignore[method-assign]
    running = it.engine.submit(it.engine.change_policy(it.session, PolicyChange(task="tides")))
    assert reached.wait(30)
    it.session.asks.notebook = NotebookAsk.from_metadata({"allow": ["other.example.net"]})
    goes_on.set()
    assert running.result(30)["task"] == "tides"
    assert it.fails().code == "not_allowed"


def test_an_agent_can_t_change_what_it_may_reach(bench: BenchMaker) -> None:
    it = bench()
    change = it.engine.change_policy(it.session, PolicyChange(act=(HOST,)), Caller("tool"))
    with pytest.raises(Refused) as caught:
        it.engine.submit(change).result(30)
    assert caught.value.code == "unauthorized"


def test_an_agent_needs_the_acting_list_to_write(bench: BenchMaker) -> None:
    it = bench()
    agent = Caller("tool")
    assert it.fetch(f"http://{HOST}/echo", agent).status == 200
    assert it.fails(f"http://{HOST}/echo", agent, method="POST", body=b"x").code == "acting_not_allowed"
    assert it.fetch(f"http://{HOST}/echo", method="POST", body=b"x").status == 200, "a cell needs the reading list"
    it.change(act=(HOST,))
    assert it.fetch(f"http://{HOST}/echo", agent, method="POST", body=b"x").status == 200
    assert it.events[-1]["risk"] == "write"


def test_budgets_refuse_before_anything_is_sent_and_charge_nothing_for_it(bench: BenchMaker, site: Site) -> None:
    it = bench(budgets=WebBudgets(kernel_total=2))
    it.fetch(f"http://{HOST}/plain?1")
    it.fetch(f"http://{HOST}/plain?1")  # from memory: free
    it.fetch(f"http://{HOST}/plain?2")
    error = it.fails(f"http://{HOST}/plain?3")
    assert (error.code, error.setting, error.retry_after) == ("over_budget", "WebBudgets.kernel_total", None)
    assert len(site.seen) == 2
    totals = {row["name"]: row for row in it.engine.submit(it.engine.policy(it.session)).result(30)["budgets"]}
    assert totals["WebBudgets.kernel_total"]["used"] == 2


def test_each_request_to_a_site_counts_in_its_window_redirects_included(bench: BenchMaker, site: Site) -> None:
    it = bench(budgets=WebBudgets(site_per_minute=2))
    assert it.fetch(f"http://{HOST}/redirect?to=/plain").status == 200
    error = it.fails(f"http://{HOST}/plain")
    assert (error.code, error.setting) == ("over_budget", "WebBudgets.site_per_minute")
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 60


def test_dollars_are_reserved_before_sending_and_given_back_when_nothing_was_sent(bench: BenchMaker) -> None:
    resolver = StubResolver({"gone.example.org": []})
    it = bench(budgets=WebBudgets(session_dollars=0.02, price_per_request=0.01), resolver=resolver)
    it.fails("http://gone.example.org/")
    assert it.events[-1]["cost"] == 0
    it.fetch(f"http://{HOST}/plain?1")
    it.fetch(f"http://{HOST}/plain?2")
    assert it.events[-1]["cost"] == pytest.approx(0.01)
    assert it.change()["dollars_spent"] == pytest.approx(0.02)
    error = it.fails(f"http://{HOST}/plain?3")
    assert (error.code, error.setting) == ("over_budget", "WebBudgets.session_dollars")


def test_the_lists_are_told_though_budgets_can_t_be(bench: BenchMaker) -> None:
    it = bench(budgets=WebBudgets(storage=f"redis://127.0.0.1:{free_port()}/0"))
    told = it.change(allow=(HOST,))
    assert told["budgets"] == []
    assert told["budgets_fault"] == it.fails().message
    assert told["ask"]["reach"] == HOST
    assert told["budgets_fault"] in policy_text(told)


def test_totals_end_with_the_session(bench: BenchMaker) -> None:
    it = bench(budgets=WebBudgets(kernel_total=1))
    it.fetch()
    assert it.fails(f"http://{HOST}/plain").code == "over_budget"
    it.engine.submit(it.engine._end_session(it.session)).result(30)  # as drop_session does, awaited
    it.engine.drop_session(it.session.id)
    it.session = it.engine.session("kernel:one")
    assert it.fetch(f"http://{HOST}/plain").status == 200


def test_who_only_made_room_finds_the_totals_used(bench: BenchMaker) -> None:
    it = bench(budgets=WebBudgets(kernel_total=1))
    it.fetch()
    it.engine.drop_session(it.session.id, ended=False)
    it.session = it.engine.session("kernel:one")
    assert it.fails(f"http://{HOST}/plain").setting == "WebBudgets.kernel_total"


def test_users_of_one_name_at_several_servers_have_totals_of_their_own(bench: BenchMaker, tmp_path: Path) -> None:
    shared = {"budgets": WebBudgets(kernel_total=1, server_per_minute=3), "budget_file": tmp_path / "budgets" / "file"}
    one, other = bench(**shared), bench(**shared)
    one.fetch()
    other.fetch()
    one.engine.close()  # refills nobody else's
    assert other.fails(f"http://{HOST}/plain").setting == "WebBudgets.kernel_total"
    assert other.used["server_per_minute"] == 2
    assert bench(**shared).fetch().status == 200, "the server that was started anew"


def test_a_required_journal_that_can_t_be_written_refuses(bench: BenchMaker, site: Site, folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    it = bench(journal=WebJournal(required=True))
    for error in (it.fails(), it.fails(save=True)):
        assert (type(error), error.code, error.setting) == (Failed, "journal_unavailable", "WebJournal.required")
    assert site.seen == []


def test_secrets_stand_nowhere_in_the_journal(bench: BenchMaker, folder: Path, site: Site) -> None:
    it = bench()
    secret = "sk-verysecret-0123456789abcdef"
    it.fetch(
        f"http://{HOST}/echo?api_key={secret}&q=tides",
        headers=(("Authorization", f"Bearer {secret}"), ("X-Api-Key", secret)),
        method="POST",
        body=json.dumps({"token": secret}).encode(),
    )
    it.fails(f"http://{HOST}/status?code=404&access_token={secret}")
    site.serve("/titled", f"<title>api_key={secret} of tides</title><h1>Tides</h1><p>They rise.", "text/html")
    it.fetch(f"http://{HOST}/titled")
    assert "tides" in it.events[-1]["title"]
    it.engine.close()
    assert "tides" in it.events[0]["url"]
    for path in folder.iterdir():
        assert secret.encode() not in path.read_bytes(), path


def test_a_url_of_a_megabyte_is_refused_and_not_redacted_on_the_loop(bench: BenchMaker) -> None:
    it = bench()
    for url in ("https://example.org/?" + "?a=" * 2**19, "https://user:" + "secret" * 2**17 + "@example.org/"):
        assert it.fails(url).code == "invalid_url"
        assert {event["url"] for event in it.events} == {"REDACTED"}


def test_events_are_told_as_they_happen(make_engine: EngineMaker) -> None:
    told: list[Any] = []
    enough = threading.Event()

    def on_event(event: Any) -> None:
        told.append(event)
        if len(told) == 2:
            enough.set()

    engine = make_engine(on_event=on_event)
    engine.submit(engine.fetch(engine.session("a"), FetchRequest(URL))).result(60)
    assert enough.wait(30)
    assert [event.outcome for event in told] == ["started", "completed"]
