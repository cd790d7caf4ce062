"""Every grant, every denial and every grant that is taken back is one approval event with its scope."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.policy.policy_change import PolicyChange
from tests.bench import Bench
from tests.conftest import BenchMaker

BOUND = {"ceiling": ["*.example.org"], "acting_ceiling": ["a.example.org", "b.example.org", "c.example.net"]}


def approvals(it: Bench) -> list[tuple[str, str, str]]:
    """Return outcome, risk and host of each; their scopes are in :func:`scopes`."""
    events = [event for event in it.events if event["kind"] == "approval"]
    assert all(event["scope"] and event["session"] == it.session.id for event in events)
    return [(event["outcome"], event["risk"], event["url"]) for event in events]


def scopes(it: Bench) -> list[str]:
    return [event["scope"] for event in it.events if event["kind"] == "approval"]


def refusal(it: Bench, caller: Caller | None = None, **change: Any) -> str:
    asked = it.engine.change_policy(it.session, PolicyChange(**change), caller or Caller())
    with pytest.raises(Refused) as caught:
        it.engine.submit(asked).result(30)
    assert type(caught.value) is Refused
    return caught.value.code


def test_an_ask_wholly_outside_the_ceiling_is_denied_on_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(**BOUND))
    assert refusal(it, allow=("one.example.net", "*.two.example.net")) == "not_allowed"
    assert approvals(it) == [("refused", "read", "one.example.net"), ("refused", "read", "*.two.example.net")]
    assert scopes(it) == ["read, by WebPolicy.ceiling, until the operator changes that"] * 2
    assert it.engine.submit(it.engine.policy(it.session)).result(30)["ask"]["is_set"] is False


def test_hosts_to_act_on_outside_a_ceiling_are_denied_on_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(**BOUND))
    assert refusal(it, act=("other.example.org",)) == "acting_not_allowed"
    assert refusal(it, act=("c.example.net",)) == "not_allowed"
    it.change(act=("a.example.org", "other.example.org", "c.example.net"))
    assert approvals(it) == [
        ("refused", "act", "other.example.org"),
        ("refused", "act", "c.example.net"),
        ("completed", "act", "a.example.org"),
        ("refused", "act", "other.example.org"),
        ("refused", "act", "c.example.net"),
    ]
    assert scopes(it) == [
        "act, by WebPolicy.acting_ceiling, until the operator changes that",
        "act, by WebPolicy.ceiling, until the operator changes that",
        "act, by a person's ask, for this session",
        "act, by WebPolicy.acting_ceiling, until the operator changes that",
        "act, by WebPolicy.ceiling, until the operator changes that",
    ]


def test_of_a_change_that_is_refused_only_what_was_denied_is_on_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(**BOUND))
    assert refusal(it, allow=("a.example.org",), act=("other.example.org",)) == "acting_not_allowed"
    assert approvals(it) == [("refused", "act", "other.example.org")]


@pytest.mark.parametrize(
    ("change", "denied"),
    [
        ({"allow": ("a.example.org",)}, [("read", "a.example.org")]),
        ({"act": ("a.example.org", "not a host")}, [("act", "a.example.org")]),
        (
            {"allow": ("b.example.org",), "act": ("a.example.org",)},
            [("read", "b.example.org"), ("act", "a.example.org")],
        ),
        ({"act": ()}, [("read", "")]),
        ({"task": "anything", "search": True}, [("read", "")]),
        ({"reset": True}, [("read", "")]),
    ],
)
def test_what_an_agent_wants_changed_is_denied_on_record(
    bench: BenchMaker, change: dict[str, Any], denied: list[tuple[str, str]]
) -> None:
    it = bench(policy=WebPolicy(**BOUND))
    assert refusal(it, Caller("tool", "one"), **change) == "unauthorized"
    assert approvals(it) == [("refused", *each) for each in denied]
    assert all("agent" in scope and "always" in scope for scope in scopes(it))
    assert {event["channel"] for event in it.events} == {"tool"}


def test_hosts_to_act_on_are_taken_back_on_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(**BOUND))
    it.change(act=("a.example.org", "b.example.org", "other.example.org"))
    before = len(it.events)
    it.change(act=("b.example.org",))
    it.change(act=())
    it.change(act=())
    assert approvals(it)[before:] == [
        ("completed", "act", "b.example.org"),
        ("refused", "act", "a.example.org"),
        ("refused", "act", "b.example.org"),
    ]
    assert scopes(it)[-1] == "act, a grant taken back by a person's ask, for this session"


def test_hosts_that_only_drops_are_taken_back_on_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(**BOUND))
    it.change(allow=("a.example.org", "x.b.example.org", "outside.example.net"))
    before = len(it.events)
    it.change(allow=("*.b.example.org",), only=True)
    it.change(only=True)
    assert approvals(it)[before:] == [
        ("completed", "read", "*.b.example.org"),
        ("refused", "read", "a.example.org"),
        ("refused", "read", "*.b.example.org"),
    ]
    assert scopes(it)[-1] == "read, a grant taken back by a person's ask, for this session"


def test_a_reset_takes_grants_and_denials_back_on_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(**BOUND, ask="prompt"))
    it.change(allow=("a.example.org",), answered=True)
    it.change(deny=("b.example.org", "c.example.org"))
    it.change(allow=("c.example.org",))
    before = len(approvals(it))
    it.change(reset=True)
    assert approvals(it)[before:] == [
        ("refused", "read", "c.example.org"),
        ("refused", "read", "a.example.org"),
        ("completed", "read", "b.example.org"),
    ]
    assert scopes(it)[-1] == "read, a denial taken back by a person's ask, for this session"


def test_a_reset_that_asks_anew_takes_back_what_it_does_not_ask_for(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(**BOUND))
    it.change(allow=("a.example.org", "b.example.org"))
    before = len(approvals(it))
    it.change(allow=("b.example.org",), reset=True)
    assert approvals(it)[before:] == [("completed", "read", "b.example.org"), ("refused", "read", "a.example.org")]


def test_a_switch_that_may_not_be_turned_is_on_record(bench: BenchMaker) -> None:
    it = bench(policy=WebPolicy(disabled_operations=["fetch"]))
    for caller, code in ((Caller("rest"), "disabled"), (Caller("tool"), "unauthorized")):
        with pytest.raises(Refused) as caught:
            it.engine.submit(it.engine.switch("fetch", True, caller)).result(30)
        assert caught.value.code == code
    told = [(event["kind"], event["outcome"], event["channel"], event["scope"]) for event in it.events]
    assert told == [
        ("policy", "refused", "rest", "fetch switched on"),
        ("policy", "refused", "tool", "fetch switched on"),
    ]
