"""What was read once is read again, or read on, only as long as it may be read: lists and switch bind memory too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.asks import NotebookAsk
from jupyter_webresearch.policy.policy_change import PolicyChange
from tests.conftest import HOST, Reader
from tests.sites import Site

OTHER = "other.example.org"
LED_ON = f"http://{HOST}/redirect?to=http://{OTHER}/article"

Narrow = Callable[[Reader], None]


def by_the_session(reader: Reader) -> None:
    change = PolicyChange(allow=("elsewhere.example",), only=True)
    reader.engine.submit(reader.engine.change_policy(reader.session, change)).result(30)


def by_denial(reader: Reader) -> None:
    reader.engine.submit(reader.engine.change_policy(reader.session, PolicyChange(deny=(OTHER,)))).result(30)


def by_metadata(reader: Reader) -> None:
    async def heed() -> None:
        reader.session.asks.notebook = NotebookAsk.from_metadata({"allow": [HOST]})

    reader.engine.submit(heed()).result(30)


def by_the_switch(reader: Reader) -> None:
    reader.engine.submit(reader.engine.switch("fetch", False, Caller("rest"))).result(30)


AGAIN: dict[str, Callable[[Page], dict[str, Any]]] = {
    "from memory": lambda page: {},
    "as it stands": lambda page: {"raw": True},
    "reading on": lambda page: {"offset": 100},
    "by record": lambda page: {"record": page.record},
    "by record, on": lambda page: {"record": page.record, "offset": 100},
}


@pytest.fixture
def switched_on(reader: Reader) -> Iterator[None]:
    """The engine is shared with other tests."""
    yield
    reader.engine.submit(reader.engine.switch(None, True, Caller("rest"))).result(30)


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("narrow", [by_the_session, by_denial, by_metadata, by_the_switch])
def test_what_was_read_is_not_read_again(reader: Reader, site: Site, narrow: Narrow, again: str) -> None:
    """The page stands on a host to which another led, which some of the narrowings spare."""
    page = reader.fetch(LED_ON)
    arguments = AGAIN[again](page)
    assert reader.fetch(LED_ON, **arguments).record == page.record
    asked = len(site.seen)
    narrow(reader)
    with pytest.raises(Refused) as caught:
        reader.fetch(LED_ON, **arguments)
    assert caught.value.code == ("disabled" if narrow is by_the_switch else "not_allowed")
    assert len(site.seen) == asked


def test_a_record_is_judged_by_where_it_came_from(reader: Reader) -> None:
    record = reader.fetch(LED_ON).record
    by_metadata(reader)
    with pytest.raises(Refused):
        reader.fetch(f"http://{HOST}/article", record=record)


@pytest.mark.usefixtures("switched_on")
def test_an_agent_switches_nothing(reader: Reader) -> None:
    engine = reader.engine
    for operation, on in (("fetch", False), (None, False), ("fetch", True), (None, True)):
        with pytest.raises(Refused) as caught:
            engine.submit(engine.switch(operation, on, Caller("tool"))).result(30)
        assert caught.value.code == "unauthorized"
    assert "fetch" in engine.operations()
