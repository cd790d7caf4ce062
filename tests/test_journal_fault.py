"""A journal that can't be written is told to people while it is so: once with a result, and always by the policy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch.config import Settings, WebJournal
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.report_text import policy_text
from tests.bench import Bench, Disk
from tests.conftest import HOST, BenchMaker
from tests.kernel.test_magics import run, shell  # noqa: F401  # a fixture

FAULT = "the journal can't be written: No space left on device; operations go on without it"


def policy(it: Bench) -> dict[str, object]:
    return it.engine.submit(it.engine.policy(it.session)).result(30)


def extracted(it: Bench) -> Page:
    work = it.engine.extract(b"<p>Tides.", url=f"http://{HOST}/", session=it.session, content_type="text/html")
    return it.engine.submit(work).result(60)


@pytest.mark.parametrize("first", [Bench.fetch, extracted])
def test_the_first_result_of_a_session_says_so_and_no_other(bench: BenchMaker, first: Callable[[Bench], Page]) -> None:
    it = bench()
    it.fetch()
    disk = Disk(it.engine)
    disk.is_full = True
    assert first(it).notes == (FAULT,)
    assert it.fetch().notes == ()
    assert it.fetch(f"http://{HOST}/plain").notes == ()
    it.session = it.engine.session("kernel:another")
    assert it.fetch().notes == (FAULT,)


def test_a_batch_says_so_once(bench: BenchMaker) -> None:
    from jupyter_webresearch.models import FetchRequest

    it = bench()
    Disk(it.engine).is_full = True
    requests = [FetchRequest(f"http://{HOST}/plain?{number}") for number in range(5)]
    pages = it.engine.submit(it.engine.fetch_many(it.session, requests)).result(60)
    assert sorted(page.notes for page in pages) == [(), (), (), (), (FAULT,)]


def test_what_failed_says_nothing_and_the_next_result_does(bench: BenchMaker) -> None:
    it = bench()
    Disk(it.engine).is_full = True
    assert FAULT not in it.fails("http://10.0.0.1/").message
    assert it.fetch().notes == (FAULT,)


def test_mended_it_is_told_no_more_and_told_anew_when_it_fails_again(bench: BenchMaker) -> None:
    it = bench()
    disk = Disk(it.engine)
    disk.is_full = True
    assert it.fetch().notes == (FAULT,)
    disk.is_full = False
    assert it.fetch().notes == ()
    disk.is_full = True
    assert it.fetch().notes == (FAULT,)


def test_the_policy_says_so_while_it_is_so(bench: BenchMaker) -> None:
    it = bench()
    assert "journal_fault" not in policy(it)
    disk = Disk(it.engine)
    disk.is_full = True
    it.fetch()
    assert policy(it)["journal_fault"] == FAULT
    assert f"Nothing is on record: {FAULT}" in policy_text(policy(it))
    disk.is_full = False
    assert "journal_fault" not in policy(it), "it is tried again, though nothing was read meanwhile"
    assert "Nothing is on record" not in policy_text(policy(it))
    assert [event["scope"] for event in it.events if event["kind"] == "policy"] == ["2 events could not be written"]


def test_where_it_is_required_the_policy_says_that_all_is_refused(bench: BenchMaker) -> None:
    it = bench(journal=WebJournal(required=True))
    Disk(it.engine).is_full = True
    assert it.fails().code == "journal_unavailable"
    assert str(policy(it)["journal_fault"]).endswith("every operation is refused")


def test_a_person_sees_it(
    bench: BenchMaker,
    shell: InteractiveShell,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    it = bench()
    magics.load(shell, LocalClient(Settings(), engine=it.engine), Settings())
    disk = Disk(it.engine)

    def said(line: str) -> str:
        capsys.readouterr()
        result = run(shell, line)
        return capsys.readouterr().out + (repr(result) if isinstance(result, Page) else "")

    page, lists, journal = f"%webfetch http://{HOST}/article", "%webresearch policy", "%webresearch journal"
    for line in (page, lists, journal):
        assert FAULT not in said(line)
    disk.is_full = True
    assert [FAULT in said(line) for line in (page, page, lists, journal)] == [True, False, True, True]
