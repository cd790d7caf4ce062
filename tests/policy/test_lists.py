"""The two lists: the narrower wins, every hop is judged by both, and nothing but a person's ask fills the second."""

from __future__ import annotations

import itertools
import json
from ipaddress import ip_address
from typing import Any

import pytest

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import BadInput, Refused, WebResearchError
from jupyter_webresearch.policy.egress import HostList
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.lists import Asks, Grant, Lists, NotebookAsk, PolicyChange, on_hub
from jupyter_webresearch.policy.policy_change import MAX_ENTRIES, MAX_TASK
from jupyter_webresearch.policy.report_text import policy_text
from jupyter_webresearch.policy.url_check import URLCheck
from tests.sites.network import CASES

WRITES = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "post")


def lists(*, hub: bool = False, **policy: Any) -> Lists:
    return Lists(WebPolicy(**policy), on_hub=hub)


def asks(metadata: object = None, **given: Any) -> Asks:
    return Asks(NotebookAsk.from_metadata(metadata), **given)


def code(judge: Lists, host: str, session: Asks, *, method: str = "GET", agent: bool = False) -> str:
    """Return ``ok`` or the code of the refusal."""
    try:
        judge.check(host, session, method=method, agent=agent)
    except Refused as error:
        assert "\n" not in error.message
        return error.code
    return "ok"


def changed(judge: Lists, session: Asks, **change: Any) -> list[Grant]:
    return judge.change(session, PolicyChange(**change))


def refusal(judge: Lists, session: Asks, **change: Any) -> WebResearchError:
    """Return why a change is refused, after making sure that it changed nothing."""
    before = (judge.report(session), session.denied.copy())
    with pytest.raises(WebResearchError) as caught:
        changed(judge, session, **change)
    assert (judge.report(session), session.denied) == before
    return caught.value


# ---------------------------------------------------------------- the case file, with the guard


GUARD = Guard(WebPolicy(), interfaces=lambda: frozenset([ip_address("203.0.114.77")]), own_ports=frozenset)
ALLOWLIST = json.loads((CASES / "allowlist_cases.json").read_text(encoding="utf-8"))
MAY_REFUSE = ("or refuse", "may refuse instead")


@pytest.mark.parametrize("case", ALLOWLIST, ids=lambda case: case["why"])
@pytest.mark.parametrize("source", ["ceiling", "session", "notebook"])
def test_every_case_of_the_allowlist(case: dict[str, Any], source: str) -> None:
    judge, session = lists(), asks()
    if source == "ceiling":
        judge = lists(ceiling=case["allow"])
    elif source == "session":
        session = asks(allow=HostList.read(case["allow"]))
    else:
        session = asks({"allow": case["allow"]})
    try:
        URLCheck(GUARD, judge).check(case["url"], session)
        allowed = True
    except WebResearchError:
        allowed = False
    if any(words in case["why"] for words in MAY_REFUSE):
        assert not allowed  # ours refuses a second spelling of a host
    else:
        assert allowed == case["allowed"]


def test_the_case_file_is_whole() -> None:
    assert len(ALLOWLIST) >= 42
    assert {case["allowed"] for case in ALLOWLIST} == {True, False}


# ---------------------------------------------------------------- the ceiling


def test_an_unset_ceiling_is_everywhere_and_an_empty_one_nowhere() -> None:
    assert code(lists(), "example.com", asks()) == "ok"
    for ceiling in ([], ["*"], ["https://example.com", "*.com"]):
        judge = lists(ceiling=ceiling)
        for session in (asks(), asks({"allow": ["example.com"]}), asks(allow=HostList.read(["example.com"]))):
            assert code(judge, "example.com", session) == "not_allowed"


def test_the_narrower_of_ceiling_and_ask_wins() -> None:
    texts = ["example.com", "a.example.com", "*.example.com", "*.a.example.com", "example.net", "internet:unrestricted"]
    hosts = ["example.com", "a.example.com", "b.a.example.com", "c.example.com", "example.net", "example.org"]
    for ceiling, asked, host in itertools.product(texts, texts, hosts):
        both = all(HostList.read([text]).covering(host) for text in (ceiling, asked))
        for session in (asks(allow=HostList.read([asked])), asks({"allow": [asked]})):
            assert (code(lists(ceiling=[ceiling]), host, session) == "ok") == both


def test_a_refusal_names_the_setting_that_governs_it() -> None:
    def setting(judge: Lists, session: Asks) -> str | None:
        with pytest.raises(Refused) as caught:
            judge.check("b.example", session, method="GET", agent=False)
        assert "b.example" in caught.value.message
        return caught.value.setting

    assert setting(lists(ceiling=["a.example"]), asks()) == "WebPolicy.ceiling"
    assert setting(lists(), asks(allow=HostList.read(["a.example"]))) == ""
    assert setting(lists(), asks({"allow": ["a.example"]})) == ""
    assert setting(lists(ask="listed"), asks()) == "WebPolicy.ask"
    assert setting(lists(ask="prompt"), asks()) == "WebPolicy.ask"


# ---------------------------------------------------------------- an unset ask


def test_open_is_the_whole_ceiling() -> None:
    judge = lists(ceiling=["*.example.com"], ask="open")
    assert code(judge, "a.example.com", asks()) == "ok"
    assert code(judge, "example.net", asks()) == "not_allowed"


def test_listed_is_nowhere_until_the_session_asks() -> None:
    judge, session = lists(ask="listed"), asks()
    assert code(judge, "example.com", session) == "not_allowed"
    changed(judge, session, allow=("example.com",))
    assert code(judge, "example.com", session) == "ok"
    assert code(judge, "example.net", session) == "not_allowed"


def test_prompt_asks_host_by_host() -> None:
    judge, session = lists(ceiling=["*.example.com"], ask="prompt"), asks()
    with pytest.raises(Refused) as caught:
        judge.check("a.example.com", session, method="GET", agent=True)
    assert (caught.value.code, caught.value.host) == ("needs_approval", "a.example.com")
    assert code(judge, "example.net", session) == "not_allowed"  # nobody is asked about what the ceiling forbids
    changed(judge, session, allow=("a.example.com",), answered=True)
    assert code(judge, "a.example.com", session) == "ok"
    assert code(judge, "b.example.com", session) == "needs_approval"
    changed(judge, session, deny=("b.example.com",))
    assert code(judge, "b.example.com", session) == "not_allowed"
    assert code(judge, "c.example.com", session) == "needs_approval"
    changed(judge, session, allow=("b.example.com",), answered=True)  # a later word holds
    assert code(judge, "b.example.com", session) == "ok"


def test_what_prompt_asks_about_can_be_answered_as_it_stands() -> None:
    judge = lists(ask="prompt")
    for host in ("2606:4700:4700::1111", "93.184.216.34", "xn--mnchen-3ya.de"):
        session = asks()
        with pytest.raises(Refused) as caught:
            judge.check(host, session, method="GET", agent=False)
        changed(judge, session, deny=(caught.value.host,))
        assert code(judge, host, session) == "not_allowed"
        changed(judge, session, allow=(caught.value.host,), answered=True)
        assert code(judge, host, session) == "ok"


def test_a_denial_holds_under_an_ask_that_covers_the_host() -> None:
    judge, session = lists(), asks(allow=HostList.read(["*.example.com"]))
    changed(judge, session, deny=("a.example.com",))
    assert code(judge, "a.example.com", session) == "not_allowed"
    assert code(judge, "b.example.com", session) == "ok"
    changed(judge, session, allow=("other.example",))
    assert code(judge, "a.example.com", session) == "not_allowed"
    changed(judge, session, allow=("*.example.com",))
    assert code(judge, "a.example.com", session) == "ok"


def test_an_ask_of_the_session_ends_the_questions() -> None:
    judge, session = lists(ask="prompt"), asks()
    changed(judge, session, allow=("a.example",), answered=True)
    changed(judge, session, allow=("b.example",))
    assert [code(judge, host, session) for host in ("a.example", "b.example", "c.example")] == [
        "ok",
        "ok",
        "not_allowed",
    ]
    changed(judge, session, allow=("c.example",), answered=True)  # to a question that was asked before
    assert code(judge, "c.example", session) == "ok"


# ---------------------------------------------------------------- the notebook's metadata


@pytest.mark.parametrize("rule", ["open", "listed", "prompt"])
def test_metadata_narrows_under_every_rule_and_grants_under_none(rule: str) -> None:
    judge = lists(ask=rule)
    session = asks({"allow": ["a.example"]})
    assert code(judge, "b.example", session) == "not_allowed"
    assert code(judge, "a.example", session) == code(judge, "a.example", asks())


def test_an_answer_goes_no_further_than_metadata() -> None:
    judge, session = lists(ask="prompt"), asks({"allow": ["a.example"]})
    changed(judge, session, allow=("a.example", "b.example"), answered=True)
    assert code(judge, "a.example", session) == "ok"
    assert code(judge, "b.example", session) == "not_allowed"


def test_an_ask_of_the_session_replaces_the_metadata_inside_the_ceiling() -> None:
    judge = lists(ceiling=["a.example", "b.example"])
    session = asks({"allow": ["a.example"], "search": False, "task": "tides"})
    assert (judge.search_is_on(session), judge.task(session)) == (False, "tides")
    changed(judge, session, allow=("b.example",), search=True, task="moons")
    assert (judge.search_is_on(session), judge.task(session)) == (True, "moons")
    assert code(judge, "a.example", session) == "not_allowed"
    assert code(judge, "b.example", session) == "ok"
    assert refusal(judge, session, allow=("c.example",)).code == "not_allowed"
    changed(judge, session, reset=True)
    assert code(judge, "b.example", session) == "not_allowed"
    assert code(judge, "a.example", session) == "ok"
    assert (judge.search_is_on(session), judge.task(session)) == (True, "moons")  # `allow` did not say them
    assert code(judge, "a.example", session) == "ok"
    assert code(judge, "b.example", session) == "not_allowed"


def test_a_session_may_state_no_task() -> None:
    judge, session = lists(), asks({"task": "tides"})
    changed(judge, session, task="")
    assert judge.task(session) == ""


@pytest.mark.parametrize(
    "metadata",
    [
        [], "example.com", 3, True, ["example.com"],
        {"allow": None}, {"allow": "example.com"}, {"allow": {"example.com": True}}, {"allow": 3}, {"allow": True},
        {"allow": []}, {"allow": ["*"]}, {"allow": [None, 3, ["example.com"]]},
        {"allow": ["example.com"] * (MAX_ENTRIES + 1)},
        {"task": None}, {"task": ["tides"]}, {"task": 3}, {"task": "x" * (MAX_TASK + 1)}, {"task": "a\x1b[31m"},
        {"allow": ["example.com"], "task": {}},
    ],
    ids=lambda metadata: json.dumps(metadata)[:40],
)  # fmt: skip
def test_metadata_that_can_not_be_read_is_nowhere_and_named(metadata: object) -> None:
    judge, session = lists(), asks(metadata)
    assert code(judge, "example.com", session) == "not_allowed"
    notebook = judge.report(session)["notebook"]
    assert notebook["reach"] == "nowhere"
    assert notebook["faults"] or notebook["dropped"] or metadata == {"allow": []}
    changed(judge, session, allow=("example.com",))  # a person may go on all the same
    assert code(judge, "example.com", session) == "ok"


@pytest.mark.parametrize("search", [None, "off", 0, 1, [], "false"])
def test_a_search_that_can_not_be_read_is_off_and_named(search: object) -> None:
    judge, session = lists(), asks({"search": search})
    assert not judge.search_is_on(session)
    assert [row["entry"] for row in judge.report(session)["notebook"]["faults"]] == ["search"]
    assert code(judge, "example.com", session) == "ok"


@pytest.mark.parametrize("metadata", [[], "off", 3])
def test_metadata_that_is_no_object_switches_search_off(metadata: object) -> None:
    assert not lists().search_is_on(asks(metadata))


def test_an_unknown_key_is_named_and_passed_over() -> None:
    judge = lists()
    session = asks({"allow": ["example.com"], "alow": ["evil.net"], **{f"k{n}": n for n in range(100)}})
    assert code(judge, "example.com", session) == "ok"
    assert code(judge, "evil.net", session) == "not_allowed"
    faults = judge.report(session)["notebook"]["faults"]
    assert faults[0]["entry"] == "alow"
    assert len(faults) < 30


def test_no_metadata_asks_nothing() -> None:
    assert NotebookAsk.from_metadata(None) == NotebookAsk.from_metadata({}) == NotebookAsk()


# ---------------------------------------------------------------- changes


def test_asks_add_up_and_only_replaces() -> None:
    judge, session = lists(), asks()
    changed(judge, session, allow=("a.example",))
    changed(judge, session, allow=("b.example", "a.example"))
    assert judge.reading(session).texts == ["a.example", "b.example"]
    changed(judge, session, allow=("c.example",), only=True)
    assert judge.reading(session).texts == ["c.example"]
    changed(judge, session, only=True)
    assert judge.report(session)["ask"]["reach"] == "nowhere"
    changed(judge, session, reset=True)
    assert code(judge, "example.com", session) == "ok"


def test_an_ask_outside_the_ceiling_is_refused_as_a_whole_naming_both() -> None:
    judge, session = lists(ceiling=["*.example.com"]), asks()
    error = refusal(judge, session, allow=("example.net", "*.example.org"), search=False, task="x", deny=("a.example",))
    assert (error.code, error.setting) == ("not_allowed", "WebPolicy.ceiling")
    for text in ("example.net", "*.example.org", "*.example.com", "ask whoever runs this server"):
        assert text in error.message


def test_an_ask_partly_inside_is_granted_for_that_part_and_the_report_says_so() -> None:
    judge, session = lists(ceiling=["a.example.com", "*.b.example"]), asks()
    grants = changed(judge, session, allow=("*.example.com", "c.b.example", "example.net"))
    assert [(grant.host, grant.granted) for grant in grants] == [
        ("c.b.example", True),
        ("a.example.com", True),
        ("example.net", False),
    ]
    assert all(grant.scope for grant in grants)
    assert code(judge, "a.example.com", session) == "ok"
    assert code(judge, "b.example.com", session) == "not_allowed"
    ask = judge.report(session)["ask"]
    assert ask["reach"] == "c.b.example, a.example.com"
    covers = {row["entry"]: row["covers"] for row in ask["entries"]}
    assert covers["*.example.com"].startswith("a.example.com of it")
    assert covers["c.b.example"] == "c.b.example only"
    assert covers["example.net"].startswith("nothing")


@pytest.mark.parametrize("text", ["", "*", "*.com", "https://example.com", "example.com:443", "10.0.0.5", "a b"])
def test_an_ask_of_which_nothing_can_be_read_is_refused_naming_it(text: str) -> None:
    judge = lists()
    for change in ({"allow": (text,)}, {"act": (text,)}, {"deny": (text,)}):
        session = asks(allow=HostList.read(["a.example"]), act=HostList.read_acting(["a.example"]))
        assert refusal(judge, session, **change).code == "bad_request"
    assert repr(text) in refusal(judge, asks(), allow=(text,)).message


def test_what_can_not_be_read_beside_what_can_is_dropped_and_named() -> None:
    judge, session = lists(), asks()
    changed(judge, session, allow=("a.example", "https://b.example"))
    assert code(judge, "b.example", session) == "not_allowed"
    (dropped,) = judge.report(session)["ask"]["dropped"]
    assert dropped["entry"] == "https://b.example"
    assert "URL" in dropped["reason"]


@pytest.mark.parametrize("text", ["*.example.com", "internet:unrestricted"])
def test_a_person_denies_hosts_only(text: str) -> None:
    assert refusal(lists(), asks(), deny=(text,)).code == "bad_request"


def test_a_session_has_an_end_to_what_it_asks() -> None:
    judge, session = lists(), asks()
    many = tuple(f"h{number}.example" for number in range(MAX_ENTRIES))
    changed(judge, session, allow=many)
    assert refusal(judge, session, allow=("one.more.example",)).code == "bad_request"
    changed(judge, session, deny=many)
    assert refusal(judge, session, deny=("one.more.example",)).code == "bad_request"


def test_grants_and_denials_name_their_host_and_scope() -> None:
    judge, session = lists(ask="prompt", acting_ceiling=["a.example"]), asks()
    (answer,) = changed(judge, session, allow=("a.example",), answered=True)
    (denial,) = changed(judge, session, deny=("b.example",))
    (ask,) = changed(judge, session, allow=("c.example",))
    acts = changed(judge, session, act=("a.example", "d.example"))
    assert (answer.granted, denial.granted, ask.granted) == (True, False, True)
    assert "answer" in answer.scope
    assert "answer" in denial.scope
    assert "ask" in ask.scope
    assert [(grant.host, grant.granted) for grant in acts] == [("a.example", True), ("d.example", False)]
    assert all(grant.scope.startswith("act") for grant in acts)
    assert {grant.risk for grant in acts} == {"act"}
    assert {grant.risk for grant in (answer, denial, ask)} == {"read"}
    assert changed(judge, session, search=False, task="x") == []


# ---------------------------------------------------------------- acting


def test_nothing_is_acted_on_unless_a_person_asks() -> None:
    judge = lists()
    for session in (asks(), asks({"allow": ["app.example"], "act": ["app.example"], "acting": ["app.example"]})):
        with pytest.raises(Refused) as caught:
            judge.check_acting("app.example", session)
        assert caught.value.code == "acting_not_allowed"
    changed(judge, session, act=("app.example",))
    judge.check_acting("app.example", session)
    with pytest.raises(Refused, match=r"other\.example"):
        judge.check_acting("sub.app.example", asks(act=HostList.read_acting(["other.example"])))


def test_metadata_that_would_act_is_named() -> None:
    session = asks({"act": ["app.example"], "acting": ["app.example"]})
    assert [fault.text for fault in session.notebook.faults] == ["act", "acting"]
    assert all("allow-actions" in fault.reason for fault in session.notebook.faults)
    assert session.act is None


READING_ASKS = [
    {"allow": ("app.example",)},
    {"allow": ("*.app.example",)},
    {"allow": ("internet:unrestricted",)},
    {"allow": ("app.example",), "only": True},
    {"allow": ("app.example",), "answered": True},
]


@pytest.mark.parametrize("change", READING_ASKS, ids=str)
@pytest.mark.parametrize("rule", ["open", "listed", "prompt"])
def test_no_reading_ask_grants_acting(change: dict[str, Any], rule: str) -> None:
    judge, session = lists(ask=rule, write_methods="acting"), asks()
    changed(judge, session, **change)
    assert code(judge, "app.example", session) == "ok"
    with pytest.raises(Refused) as caught:
        judge.check_acting("app.example", session)
    assert caught.value.code == "acting_not_allowed"
    for method, agent in itertools.product(WRITES, (True, False)):
        assert code(judge, "app.example", session, method=method, agent=agent) == "acting_not_allowed"


@pytest.mark.parametrize("ceiling", [None, ["app.example"], ["*.app.example"], ["internet:unrestricted"]], ids=str)
def test_no_ceiling_grants_acting(ceiling: list[str] | None) -> None:
    for acting in (None, ["app.example"]):
        judge = lists(ceiling=ceiling, acting_ceiling=acting)
        assert code(judge, "app.example", asks(), method="POST", agent=True) == "acting_not_allowed"


def test_neither_metadata_nor_an_unset_ask_grants_acting() -> None:
    for session in (asks(), asks({"allow": ["app.example"]}), asks({"allow": ["internet:unrestricted"]})):
        assert code(lists(), "app.example", session, method="POST", agent=True) == "acting_not_allowed"


def test_a_host_to_act_on_has_to_be_readable_when_it_is_checked() -> None:
    judge, session = lists(ceiling=["a.example", "b.example"]), asks()
    changed(judge, session, act=("a.example", "b.example"))
    judge.check_acting("b.example", session)
    changed(judge, session, allow=("a.example",))
    judge.check_acting("a.example", session)
    with pytest.raises(Refused) as caught:
        judge.check_acting("b.example", session)
    assert caught.value.code == "not_allowed"
    acting = judge.report(session)["acting"]
    assert acting["reach"] == "a.example"
    assert [row["covers"] for row in acting["entries"]] == [
        "a.example only",
        "nothing while this session may not read it",
    ]
    changed(judge, session, deny=("a.example",))
    assert judge.report(session)["acting"]["reach"] == "nowhere"
    with pytest.raises(Refused):
        judge.check_acting("a.example", session)


@pytest.mark.parametrize("text", ["*.app.example", "*", "internet:unrestricted", "93.184.216.34", "[2606:4700::1]"])
def test_acting_entries_are_exact_names(text: str) -> None:
    judge, session = lists(), asks()
    changed(judge, session, act=("app.example", text))
    acting = judge.report(session)["acting"]
    assert [row["entry"] for row in acting["entries"]] == ["app.example"]
    assert [row["entry"] for row in acting["dropped"]] == [text]
    for host in ("sub.app.example", "93.184.216.34", "2606:4700::1", "other.example"):
        with pytest.raises(Refused):
            judge.check_acting(host, session)
    ceiling = lists(acting_ceiling=[text])  # the same for the operator's
    assert refusal(ceiling, asks(), act=("app.example",)).code == "acting_not_allowed"
    assert ceiling.report(asks())["acting"]["ceiling"]["reach"] == "nowhere"


def test_the_operators_acting_ceiling_bounds_a_person() -> None:
    judge, session = lists(acting_ceiling=["a.example", "b.example"]), asks()
    error = refusal(judge, session, act=("c.example",))
    assert (error.code, error.setting) == ("acting_not_allowed", "WebPolicy.acting_ceiling")
    for text in ("a.example", "b.example", "c.example"):
        assert text in error.message
    changed(judge, session, act=("a.example", "c.example"))
    judge.check_acting("a.example", session)
    with pytest.raises(Refused) as caught:
        judge.check_acting("c.example", session)
    assert caught.value.setting == "WebPolicy.acting_ceiling"
    changed(judge, session, act=())
    with pytest.raises(Refused):
        judge.check_acting("a.example", session)
    assert refusal(lists(acting_ceiling=[]), asks(), act=("a.example",)).code == "acting_not_allowed"


def test_acting_stays_inside_the_reading_ceiling() -> None:
    judge, session = lists(ceiling=["a.example"]), asks()
    assert refusal(judge, session, act=("b.example",)).code == "not_allowed"
    grants = changed(judge, session, act=("a.example", "b.example"))
    assert [grant.granted for grant in grants] == [True, False]
    with pytest.raises(Refused):
        judge.check_acting("b.example", session)


def test_on_a_hub_nobody_acts_until_the_operator_names_hosts() -> None:
    judge, session = lists(hub=True), asks()
    error = refusal(judge, session, act=("a.example",))
    assert error.code == "acting_not_allowed"
    assert "JupyterHub" in error.message
    assert judge.report(session)["acting"]["ceiling"]["reach"] == "nowhere"
    named = lists(hub=True, acting_ceiling=["a.example"])
    changed(named, session, act=("a.example",))
    named.check_acting("a.example", session)


def test_a_hub_is_known_by_the_environment() -> None:
    assert on_hub({"JUPYTERHUB_API_URL": "http://hub:8081/hub/api"})
    assert not on_hub({"JUPYTERHUB_API_URL": ""})
    assert not on_hub({})


@pytest.mark.parametrize("method", WRITES)
def test_writes_from_a_cell_go_by_the_setting_and_those_of_an_agent_never_do(method: str) -> None:
    for setting in ("reading", "acting"):
        judge, session = lists(write_methods=setting), asks()
        expected = "ok" if setting == "reading" else "acting_not_allowed"
        assert code(judge, "app.example", session, method=method) == expected
        assert code(judge, "app.example", session, method=method, agent=True) == "acting_not_allowed"
        changed(judge, session, act=("app.example",))
        for agent in (True, False):
            assert code(judge, "app.example", session, method=method, agent=agent) == "ok"


@pytest.mark.parametrize("method", ["GET", "HEAD", "get"])
def test_reads_need_no_acting_list(method: str) -> None:
    judge = lists(write_methods="acting")
    assert code(judge, "app.example", asks(), method=method, agent=True) == "ok"


# ---------------------------------------------------------------- report and warnings


def test_the_report_is_json_and_names_both_lists_always() -> None:
    for judge in (lists(), lists(ceiling=[]), lists(ask="listed"), lists(ask="prompt"), lists(hub=True)):
        for session in (asks(), asks({"allow": []}), asks(allow=HostList.read(["a.example"]))):
            report = judge.report(session)
            assert json.loads(json.dumps(report)) == report
            for part in (report["ceiling"], report["ask"], report["acting"], report["acting"]["ceiling"]):
                assert set(part) >= {"is_set", "reach", "entries", "dropped"}
                assert part["reach"]
            assert set(report) == {"ceiling", "ask", "acting", "notebook", "task", "search"}


def test_nowhere_is_said_in_that_word() -> None:
    assert lists(ceiling=[]).report(asks())["ceiling"]["reach"] == "nowhere"
    assert lists(ceiling=[]).report(asks())["ask"]["reach"] == "nowhere"
    assert lists(ask="listed").report(asks())["ask"]["reach"] == "nowhere"
    assert lists(ceiling=["a.example"]).report(asks({"allow": ["b.example"]}))["ask"]["reach"] == "nowhere"
    assert lists().report(asks())["acting"]["reach"] == "nowhere"


def test_the_text_prints_both_lists_with_what_each_entry_covers_and_what_was_dropped() -> None:
    judge = lists(ceiling=["*.example.com", "https://x.example"], acting_ceiling=["app.example.com", "*.example.com"])
    session = asks({"allow": ["a.example.com", "*.org"], "search": False, "task": "tides", "alow": []})
    text = policy_text(judge.report(session))
    for part in (
        "(WebPolicy.ceiling): *.example.com\n",
        "  *.example.com: example.com and every name below it\n",
        "  https://x.example: dropped, it is a URL",
        "This session reads: a.example.com (asked for none",
        "metadata keeps to: a.example.com\n",
        "  *.org: dropped, anyone",
        "metadata, alow: it is none of",
        "(WebPolicy.acting_ceiling): app.example.com\n",
        "  *.example.com: dropped, a host where",
        "This session acts on: nowhere (asked for none)\n",
        "Search: off\n",
        "Task: tides",
    ):
        assert part in text
    changed(judge, session, deny=("b.example.com",), allow=("*.example.com", "example.net"), act=("app.example.com",))
    text = policy_text(judge.report(session))
    assert "This session reads: *.example.com\n" in text
    assert "  example.net: nothing: outside the ceiling\n" in text
    assert "  b.example.com: denied in this session\n" in text
    assert "This session acts on: app.example.com\n" in text


def test_the_text_says_nowhere_and_what_an_engine_adds() -> None:
    report = lists(ceiling=[], ask="listed").report(asks())
    text = policy_text(report)
    assert text.count(": nowhere") == 3
    report |= {
        "operations": ["fetch", "image"],
        "write_methods": "acting",
        "credentials": {"api.example": "example"},
    }
    text = policy_text(report)
    assert "Operations: fetch, image" in text
    assert "Credential for api.example: credential:example" in text
    assert "from cells go by: the acting list" in text


def test_what_others_wrote_is_printed_inert() -> None:
    hostile = "\x1b[31m\u202egpj.exe\n- **x** " + "y" * 5000
    judge, session = lists(), asks({"allow": [hostile], hostile: 1, "task": "a\nb"})
    report = judge.report(session)
    text = policy_text(report)
    for shown in (text, *(row["entry"] for row in report["notebook"]["dropped"] + report["notebook"]["faults"])):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert "gpj.exe\n" not in text
    assert max(map(len, text.splitlines())) < 500
    assert policy_text(lists(ceiling=["\u200b"]).report(asks())).count("'\\u200b': dropped") == 1


def test_dropped_entries_are_warned_of_by_name_and_reason() -> None:
    judge = lists(ceiling=["a.example", "*.com", "b.example:80\n"], acting_ceiling=["*.example.com"])
    warnings = judge.warnings()
    assert all("\n" not in warning for warning in warnings)
    assert warnings[0].startswith("WebPolicy.ceiling: '*.com' covers nothing: anyone")
    assert "b.example:80\\n" in warnings[1]
    assert warnings[2].startswith("WebPolicy.acting_ceiling: '*.example.com' covers nothing: ")
    assert warnings[3] == "WebPolicy.acting_ceiling: no entry could be read, so it is nowhere"
    assert len(warnings) == 4
    assert lists(ceiling=["a.example"]).warnings() == []


def test_an_unset_ceiling_is_warned_of_on_a_hub_only() -> None:
    assert lists().warnings() == []
    (warning,) = lists(hub=True).warnings()
    assert warning.startswith("WebPolicy.ceiling is not set")
    for ceiling in ([], ["a.example"], ["internet:unrestricted"]):
        assert lists(hub=True, ceiling=ceiling).warnings() == []


# ---------------------------------------------------------------- the JSON form of a change


def test_a_change_survives_its_json_form() -> None:
    changes = [
        PolicyChange(),
        PolicyChange(allow=("a.example", "*.b.example"), only=True, reset=True, act=(), search=False, task="x\ny"),
        PolicyChange(deny=("a.example",), answered=True, act=("a.example",), search=True, task=""),
    ]
    for change in changes:
        assert PolicyChange.from_json(json.loads(json.dumps(change.to_json()))) == change
    assert PolicyChange.from_json({}) == PolicyChange()


@pytest.mark.parametrize(
    "data",
    [
        None, [], "allow", 3, {"alow": []}, {"allow": "example.com"}, {"allow": None}, {"allow": [3]}, {"allow": {}},
        {"act": "a"}, {"act": [None]}, {"deny": [[]]}, {"only": 1}, {"only": None}, {"reset": "yes"},
        {"answered": "true"}, {"search": "off"}, {"search": 0}, {"task": 3}, {"task": "x" * (MAX_TASK + 1)},
        {"task": "\x00"}, {"task": "\u202e"}, {"allow": ["a"] * (MAX_ENTRIES + 1)}, {"allow": ["a" * 1001]},
        {"x" * 5000: 1},
    ],
    ids=lambda data: json.dumps(data)[:40],
)  # fmt: skip
def test_a_change_that_can_not_be_read_is_refused(data: object) -> None:
    with pytest.raises(BadInput) as caught:
        PolicyChange.from_json(data)
    assert caught.value.code == "bad_request"
    assert len(caught.value.message) < 300


# ---------------------------------------------------------------- verdicts


def test_a_verdict_is_that_of_guard_and_lists() -> None:
    check = URLCheck(GUARD, lists(ceiling=["*.example.com", "localhost"]))
    expected = {
        "https://a.example.com/x": "ok",
        "https://example.net/": "not_allowed",
        "https://user@example.net/": "invalid_url",
        "ftp://a.example.com/": "unsupported_scheme",
        "https://a.example.com:25/": "blocked_port",
        "http://localhost/": "blocked_host",
        "http://10.0.0.5/": "blocked_address",
    }
    for url, code_ in expected.items():
        verdict = check.verdict(url)
        assert (verdict.url, verdict.code) == (url, code_)
        assert verdict.verdict == ("allowed" if code_ == "ok" else "refused")
    assert check.verdict("https://a.example.com/", asks({"allow": []})).code == "not_allowed"
    assert URLCheck(GUARD, lists(ask="prompt")).verdict("https://a.example.com/").code == "needs_approval"
    assert URLCheck(GUARD, lists(ask="listed")).verdict("https://a.example.com/").code == "not_allowed"


# ---------------------------------------------------------------- addresses that the operator opens


INSIDE = {"allow_private_networks": ["127.0.0.1/32", "10.0.0.0/24", "::1/128"], "allow_nat64": ["64:ff9b::/96"]}


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("10.0.0.9", "10.0.0.9"),
        ("::1", "[::1]"),
        ("64:ff9b::808:808", "[64:ff9b::808:808]"),
    ],
)
def test_an_address_that_is_opened_can_be_listed_asked_for_and_denied(host: str, entry: str) -> None:
    listed = lists(ceiling=[entry, "a.example"], ask="prompt", **INSIDE)
    session = asks()
    with pytest.raises(Refused) as caught:
        listed.check(host, session, method="GET", agent=False)
    assert (caught.value.code, caught.value.host) == ("needs_approval", entry)
    changed(listed, session, allow=(caught.value.host,), answered=True)
    assert code(listed, host, session) == "ok"
    assert [row["covers"] for row in listed.report(session)["ask"]["entries"]] == [f"{entry} only"]
    session = asks()
    changed(listed, session, deny=(caught.value.host,))
    assert code(listed, host, session) == "not_allowed"
    assert code(lists(**INSIDE), host, asks({"allow": [entry]})) == "ok"


@pytest.mark.parametrize("entry", ["127.0.0.2", "10.0.1.9", "[fd00::1]", "169.254.169.254", "[64:ff9b::a00:105]"])
def test_an_address_that_nothing_opens_can_not(entry: str) -> None:
    judge, session = lists(ceiling=[entry, "a.example"], **INSIDE), asks({"allow": [entry, "a.example"]})
    told = judge.report(session)
    for part in ("ceiling", "notebook"):
        assert [row["entry"] for row in told[part]["dropped"]] == [entry]
        assert "not a public address" in told[part]["dropped"][0]["reason"]
    assert refusal(judge, session, allow=(entry,)).code == "bad_request"
    assert refusal(judge, session, deny=(entry,)).code == "bad_request"


def test_being_listed_opens_nothing() -> None:
    policy = WebPolicy(ceiling=["10.0.0.9", "internet:unrestricted"])
    check = URLCheck(Guard(policy, interfaces=frozenset, own_ports=frozenset), Lists(policy, on_hub=False))
    with pytest.raises(Refused) as caught:
        check.check("http://10.0.0.9/", asks(allow=HostList.read(["10.0.0.9"])))
    assert caught.value.code == "blocked_address"


# ---------------------------------------------------------------- what a refusal advises


def advice(judge: Lists, host: str, session: Asks, *, method: str = "GET") -> Refused:
    with pytest.raises(Refused) as caught:
        judge.check(host, session, method=method, agent=method != "GET")
    return caught.value


def test_what_is_advised_works() -> None:
    judge = lists(ceiling=["a.example", "b.example"], acting_ceiling=["a.example"], ask="listed")
    for session in (asks(), asks(allow=HostList.read(["b.example"])), asks({"allow": []}), asks(denied={"a.example"})):
        assert "%webresearch allow a.example" in advice(judge, "a.example", session).message
        changed(judge, session, allow=("a.example",))
        assert code(judge, "a.example", session) == "ok"
        assert "%webresearch allow-actions a.example" in advice(judge, "a.example", session, method="POST").message
        changed(judge, session, act=("a.example",))
        assert code(judge, "a.example", session, method="POST", agent=True) == "ok"


@pytest.mark.parametrize(
    ("policy", "method", "setting"),
    [
        ({"ceiling": ["b.example"]}, "GET", "WebPolicy.ceiling"),
        ({"ceiling": []}, "GET", "WebPolicy.ceiling"),
        ({"acting_ceiling": ["b.example"]}, "POST", "WebPolicy.acting_ceiling"),
        ({"hub": True}, "POST", "WebPolicy.acting_ceiling"),
    ],
)
def test_what_only_the_operator_can_do_is_not_advised(policy: dict[str, Any], method: str, setting: str) -> None:
    error = advice(lists(**policy), "a.example", asks(), method=method)
    assert "%webresearch" not in error.message
    assert "ask whoever runs this server" in error.message
    assert error.setting == setting
    assert ("b.example" in error.message) is ("b.example" in str(policy))


def test_nobody_is_told_to_let_an_address_be_acted_on() -> None:
    error = advice(lists(**INSIDE), "10.0.0.9", asks(), method="POST")
    assert "%webresearch" not in error.message


def test_a_reset_forgets_what_allow_asked_for_and_nothing_else() -> None:
    judge = lists(ask="prompt")
    session = asks(act=HostList.read_acting(["a.example"]), task="tides", search=False)
    changed(judge, session, allow=("a.example",), answered=True)
    changed(judge, session, deny=("b.example",))
    changed(judge, session, allow=("c.example",))
    changed(judge, session, reset=True)
    assert session == asks(act=HostList.read_acting(["a.example"]), task="tides", search=False)


# ---------------------------------------------------------------- the report in words


def test_the_metadata_that_an_ask_replaced_keep_to_nothing_any_more() -> None:
    judge, session = lists(), asks({"allow": ["a.example"], "search": False})
    assert "This notebook's metadata keeps to: a.example" in policy_text(judge.report(session))
    changed(judge, session, allow=("b.example",), search=True)
    told = policy_text(judge.report(session))
    assert "keeps to" not in told
    assert "This notebook's metadata names, but this session asked for others: a.example" in told
    assert "search: off, but this session switched it on" in told


def test_what_an_engine_adds_is_in_words() -> None:
    row = {"name": "WebBudgets.kernel_total", "counts": "operations of this kernel, all told", "seconds": None}
    told = policy_text(
        {
            **lists().report(asks()),
            "operations": ["fetch"],
            "robots": "named",
            "allow_private_networks": ["10.0.0.0/24"],
            "allowed_ports": [443, 8888],
            "extra_blocked": [],
            "site_per_minute": 60,
            "budgets": [
                {**row, "size": 500, "used": 500, "frees_in": None},
                {**row, "size": 1000, "used": 7, "frees_in": 12.2},
                {**row, "size": 7, "used": 7, "frees_in": 12.2},
            ],
        }
    )
    assert "robots.txt: obeyed where it names us (named)" in told
    assert "(WebPolicy.allow_private_networks): 10.0.0.0/24" in told
    assert "(WebPolicy.allowed_ports): 443, 8888" in told
    assert "extra_blocked" not in told
    assert "WebBudgets.site_per_minute: at most 60 requests of all kernels to each site in a minute" in told
    assert told.count("room again") == 1
    assert "7 of 7 operations of this kernel, all told; room again in 12 s" in told
    assert "500 of 500 operations of this kernel, all told; used up" in told
    assert "7 of 1,000 operations of this kernel, all told\n" in told
