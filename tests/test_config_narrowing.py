"""How an operator's value and a user's are combined, for each way of narrowing; and that a notebook widens nothing."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import pytest

from jupyter_webresearch.config import CONFIGURABLES, WebPolicy, environment_name, settings_of
from jupyter_webresearch.config_loading import NARROWINGS, load_settings
from jupyter_webresearch.policy.egress import HostList
from jupyter_webresearch.policy.lists import Asks, Lists
from tests.test_config_loading import Levels, give, other_value, text_of

USERS = ["file", "environment", "command line"]
OPERATORS = ["system", "prefix"]
BINDING = [
    (cls, name)
    for cls in CONFIGURABLES
    for name, trait in settings_of(cls).items()
    if trait.metadata.get("narrows") not in (None, "union")
]
OPERATORS_OWN = [(cls, name) for cls, name in BINDING if settings_of(cls)[name].metadata["narrows"] == "operator"]

# (setting, one value, another, what remains of both): whichever of the two is the operator's
BOTH_WAYS = [
    ("WebPolicy.enabled", False, True, False),
    ("WebPolicy.ask", "listed", "open", "listed"),
    ("WebPolicy.ask", "prompt", "open", "prompt"),
    ("WebPolicy.ask", "listed", "prompt", "listed"),
    ("WebPolicy.write_methods", "acting", "reading", "acting"),
    ("WebPolicy.robots", "full", "named", "full"),
    ("WebPolicy.robots", "named", "off", "named"),
    ("WebPolicy.ceiling", ["a.example.com"], ["*.example.com"], ["a.example.com"]),
    ("WebPolicy.ceiling", ["*.a.example.com"], ["*.example.com", "example.net"], ["*.a.example.com"]),
    ("WebPolicy.ceiling", ["*.example.com"], ["internet:unrestricted"], ["*.example.com"]),
    ("WebPolicy.ceiling", ["example.com"], ["example.net"], []),
    ("WebPolicy.ceiling", [], ["internet:unrestricted"], []),
    ("WebPolicy.ceiling", ["*"], ["example.com"], ["*"]),
    ("WebPolicy.acting_ceiling", ["a.example.com"], ["a.example.com", "b.example.com"], ["a.example.com"]),
    ("WebPolicy.acting_ceiling", ["a.example.com"], ["*.example.com"], ["*.example.com"]),  # the wildcard is none
    ("WebPolicy.acting_ceiling", ["a.example.com"], ["internet:unrestricted"], ["internet:unrestricted"]),
    ("WebPolicy.acting_ceiling", [], ["a.example.com"], []),
    ("WebBudgets.kernel_total", 10, 500, 10),
    ("WebBudgets.kernel_total", 10, 0, 10),
    ("WebBudgets.server_per_day", 1000, 0, 1000),
    ("WebBudgets.site_per_minute", 1, 60, 1),
    ("WebBudgets.session_dollars", 0.5, 0.0, 0.5),
    ("WebBudgets.session_dollars", 0.5, 2.0, 0.5),
    ("WebBudgets.when_unavailable", "refuse", "local", "refuse"),
    ("WebJournal.required", True, False, True),
    ("WebClassifier.threshold", 0.2, 0.8, 0.2),
    ("WebClassifier.threshold", 0.0, 1.0, 0.0),
    ("WebSearch.enabled_plugins", ["acme"], ["acme", "other"], ["acme"]),
    ("WebSearch.enabled_plugins", [], ["acme"], []),
]  # fmt: skip


def ids(case):
    return f"{case[0].__name__}.{case[1]}"


@pytest.fixture
def levels(tmp_path):
    return Levels(tmp_path)


def operators(levels, folder, name, value):
    cls, trait = name.split(".")
    return levels.write(getattr(levels, folder), {cls: {trait: value}})


@pytest.mark.parametrize("source", USERS)
@pytest.mark.parametrize("swapped", [False, True], ids=["operator-narrow", "operator-wide"])
@pytest.mark.parametrize(("name", "narrow", "wide", "both"), BOTH_WAYS)
def test_the_narrower_holds_whoever_says_it(levels, source, swapped, name, narrow, wide, both):
    of_operator, of_user = (wide, narrow) if swapped else (narrow, wide)
    path = operators(levels, "system", name, of_operator)
    setting = levels.explain(name, *give(levels, source, name, of_user))
    assert setting.value == both
    assert setting.chosen == of_user
    if both != of_user:
        assert setting.narrowed_by == (f"file {path}",)
    else:
        assert setting.narrowed_by == ()


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("name", "narrow", "wide", "both"), BOTH_WAYS)
def test_two_operators_files_bind_each_other(levels, swapped, name, narrow, wide, both):
    first, second = (wide, narrow) if swapped else (narrow, wide)
    operators(levels, "prefix", name, first)
    operators(levels, "system", name, second)
    assert levels.explain(name).value == both


@pytest.mark.parametrize("case", BINDING, ids=ids)
def test_an_operators_value_stands_where_no_user_chose(levels, case):
    cls, trait = case
    name, value = f"{cls.__name__}.{trait}", other_value(cls, trait)
    path = operators(levels, "system", name, value)
    setting = levels.explain(name)
    assert (setting.value, setting.source) == (value, f"file {path}")


# The operator's own


def another_value(cls, trait):
    """Return an allowed value that is neither the default nor the one that ``other_value`` returns."""
    name = f"{cls.__name__}.{trait}"
    values = {
        "WebPolicy.credentials": {},
        "WebPolicy.upstream_proxy_resolves": False,
        "WebPolicy.trust_env_proxy": False,
        "WebBudgets.price_per_request": 3.0,
        "WebBudgets.price_per_search": {"brave": 0.001},
        "WebBudgets.storage": "rediss://other.example:6380/1",
        "WebPolicy.source_ipv4": "192.0.2.9",
        "WebPolicy.source_ipv6": "2001:db8::9",
        "WebPolicy.upstream_proxy": "http://other.example:3128",
        "WebPolicy.upstream_proxy_credentials": "env:OTHER",
        "WebPolicy.ca_bundle": "/other.pem",
        "WebClassifier.url": "http://other.example/v1",
        "WebClassifier.model": "large",
        "WebClassifier.key": "env:OTHER",
        "WebClassifier.timeout": 3.0,
        "WebJournal.max_size": 1024 * 1024,
        "WebJournal.files": 9,
        "WebFetch.agent": "OtherBot",
        "WebFetch.agent_url": "https://other.example/bot",
        "WebFetch.contact": "other@example.org",
        "WebFetch.send_request_id": True,
        "WebSearch.backend": "exa",
        "WebSearch.search_backend": "exa",
        "WebSearch.extract_backend": "own",
        "WebSearch.default_providers": ["crossref"],
        "WebSearch.keys": {"exa": "keyring:exa/us"},
    }
    return values[name]


@pytest.mark.parametrize("case", OPERATORS_OWN, ids=ids)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("source", USERS)
def test_what_is_the_operators_own_wins_over_every_level_of_a_user(levels, operator, source, case):
    cls, trait = case
    name, mine, theirs = f"{cls.__name__}.{trait}", other_value(cls, trait), another_value(cls, trait)
    path = operators(levels, operator, name, theirs)
    setting = levels.explain(name, *give(levels, source, name, mine))
    assert (setting.value, setting.chosen, setting.narrowed_by) == (theirs, mine, (f"file {path}",))


@pytest.mark.parametrize("source", USERS)
@pytest.mark.parametrize("case", OPERATORS_OWN, ids=ids)
def test_a_user_sets_it_where_no_operator_does(levels, source, case):
    cls, trait = case
    name, mine = f"{cls.__name__}.{trait}", other_value(cls, trait)
    assert levels.explain(name, *give(levels, source, name, mine)).value == mine


@pytest.mark.parametrize("case", OPERATORS_OWN, ids=ids)
def test_of_two_operators_that_of_the_more_general_folder_wins(levels, case):
    """A user may own the Python environment, and with it one of the two."""
    cls, trait = case
    name, theirs, own = f"{cls.__name__}.{trait}", other_value(cls, trait), another_value(cls, trait)
    operators(levels, "prefix", name, own)
    path = operators(levels, "system", name, theirs)
    assert levels.explain(name).source == f"file {path}"
    order = levels.arguments() | {"config_path": [str(levels.system), str(levels.user), str(levels.prefix)]}
    for arguments in (levels.arguments(), order):  # JUPYTER_CONFIG_PATH can move folders to the front
        settings = load_settings(**arguments)
        section = next(each for each in vars(settings).values() if type(each) is cls)
        assert getattr(section, trait) == theirs


def test_in_one_folder_json_wins_as_in_jupyter(levels):
    levels.write(levels.system, {"WebBudgets": {"storage": "redis://a.example/0"}})
    levels.write(levels.system, "c.WebBudgets.storage = 'redis://b.example/0'")
    assert levels.load().budgets.storage == "redis://a.example/0"


def test_an_operators_empty_value_is_one_too(levels):
    levels.write(levels.system, {"WebPolicy": {"upstream_proxy": "", "credentials": {}}, "WebClassifier": {"url": ""}})
    levels.environ["JUPYTER_WEBRESEARCH_WEBPOLICY_UPSTREAM_PROXY"] = "http://mine.example:3128"
    levels.environ["JUPYTER_WEBRESEARCH_WEBCLASSIFIER_URL"] = "http://mine.example/v1"
    levels.environ["JUPYTER_WEBRESEARCH_WEBPOLICY_CREDENTIALS"] = '{"mine.example": {"source": "env:X"}}'
    settings = levels.load()
    assert (settings.policy.upstream_proxy, settings.policy.credentials, settings.classifier.url) == ("", {}, "")


# Hosts


HOSTS = ["example.com", "a.example.com", "b.a.example.com", "b.example.com", "example.net", "example.org"]
LISTS = [
    None, [], ["*"], ["example.com"], ["*.example.com"], ["*.a.example.com", "example.net"], ["internet:unrestricted"],
    ["a.example.com", "https://example.net"],
]  # fmt: skip


@pytest.mark.parametrize("trait", ["ceiling", "acting_ceiling"])
def test_hosts_of_both_levels_and_no_others_are_covered(trait):
    definition = settings_of(WebPolicy)[trait]
    narrow = NARROWINGS[definition.metadata["narrows"]]
    read = HostList.read if trait == "ceiling" else HostList.read_acting

    def covers(texts, host):
        return texts is None or read(texts).covering(host) is not None

    for user, operator, host in itertools.product(LISTS, LISTS, HOSTS):
        common = narrow(user, operator, definition)
        assert covers(common, host) == (covers(user, host) and covers(operator, host)), (user, operator, host)
        assert (common is None) == (user is None and operator is None)


def test_what_either_level_got_wrong_is_named(levels):
    levels.write(levels.system, {"WebPolicy": {"ceiling": ["*.example.com", "*.com"]}})
    levels.environ["JUPYTER_WEBRESEARCH_WEBPOLICY_CEILING"] = "A.example.com, https://b.example.com"
    policy = levels.load().policy
    assert policy.ceiling == ["a.example.com", "https://b.example.com", "*.com"]
    assert [warning.partition(" covers")[0] for warning in Lists(policy, on_hub=False).warnings()] == [
        "WebPolicy.ceiling: 'https://b.example.com'",
        "WebPolicy.ceiling: '*.com'",
    ]


def test_an_address_has_to_be_on_both_lists(levels):
    inside = {"allow_private_networks": ["10.0.0.0/24"]}
    levels.write(levels.system, {"WebPolicy": {"ceiling": ["a.example", "10.0.0.1"], **inside}})
    levels.write(levels.user, {"WebPolicy": {"ceiling": ["a.example", "10.0.0.1", "10.0.0.2"], **inside}})
    policy = levels.load().policy
    assert Lists(policy, on_hub=False).ceiling.texts == policy.ceiling == ["a.example", "10.0.0.1"]


def test_no_ask_goes_round_the_combined_ceiling(levels):
    levels.write(levels.system, {"WebPolicy": {"ceiling": ["*.example.com"]}})
    levels.write(levels.user, {"WebPolicy": {"ceiling": ["a.example.com", "example.net"]}})
    lists = Lists(levels.load().policy, on_hub=False)
    assert lists.reading(Asks()).texts == ["a.example.com"]


def test_a_spelling_of_ones_own_is_not_narrowed(levels):
    levels.write(levels.system, {"WebPolicy": {"ceiling": ["internet:unrestricted"]}})
    setting = levels.explain("WebPolicy.ceiling", "--WebPolicy.ceiling=EXAMPLE.com")
    assert (setting.value, setting.narrowed_by) == (["EXAMPLE.com"], ())


@pytest.mark.parametrize("folder", ["user", "system"])
def test_what_is_added_to_an_unset_list_is_the_list(levels, folder):
    levels.write(getattr(levels, folder), "c.WebPolicy.ceiling.append('example.com')")
    assert levels.load().policy.ceiling == ["example.com"]


def test_no_edit_widens_an_operators_list(levels):
    levels.write(levels.system, {"WebPolicy": {"ceiling": ["example.com"]}})
    levels.write(levels.user, "c.WebPolicy.ceiling.extend(['internet:unrestricted'])")
    assert levels.load().policy.ceiling == ["example.com"]


def test_no_one_switches_an_operation_on_again(levels):
    levels.write(levels.system, {"WebPolicy": {"disabled_operations": ["search"]}})
    levels.write(levels.prefix, {"WebPolicy": {"disabled_operations": ["image"]}})
    setting = levels.explain("WebPolicy.disabled_operations", "--WebPolicy.disabled_operations=")
    assert sorted(setting.value) == ["image", "search"]


# What a notebook does to its kernel's environment


AS_STARTED = """
import json, os, sys
given = json.loads(sys.stdin.read())
os.environ.update(given["set"])
for name in given["unset"]:
    del os.environ[name]
from jupyter_webresearch.config_loading import explain
from jupyter_webresearch.config_sources import environment_as_started
environ = environment_as_started()
explained = explain(environ=environ, config_path=[], operator_path=[])
print(json.dumps([{s.name: s.value for s in explained}, environ.get("JUPYTERHUB_API_URL")]))
"""


def settings_in_a_kernel(started, later, unset=()):
    environ = {name: text for name, text in os.environ.items() if not name.startswith("JUPYTER")} | started
    done = subprocess.run(
        [sys.executable, "-c", AS_STARTED],
        env=environ,
        input=json.dumps({"set": later, "unset": list(unset)}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def variables(value_of):
    return {environment_name(cls, name): text_of(value_of(cls, name)) for cls, name in BINDING}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the environment of the start")
def test_a_notebook_sets_no_binding_setting():
    values, _ = settings_in_a_kernel({}, variables(other_value))
    for cls, name in BINDING:
        assert values[f"{cls.__name__}.{name}"] == settings_of(cls)[name].default()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the environment of the start")
def test_a_notebook_changes_and_removes_none_that_was_set_at_the_start():
    started = variables(other_value) | {"JUPYTERHUB_API_URL": "http://hub.example/api"}
    changed = {name: "" for name in started if "CEILING" in name or "HUB" in name}
    for later, unset in ((changed, ()), ({}, started)):
        values, hub = settings_in_a_kernel(started, later, unset)
        for cls, name in BINDING:
            assert values[f"{cls.__name__}.{name}"] == other_value(cls, name)
        assert hub == "http://hub.example/api"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the environment of the start")
def test_a_notebook_may_block_more():
    values, _ = settings_in_a_kernel({}, {"JUPYTER_WEBRESEARCH_WEBPOLICY_EXTRA_BLOCKED": "a.example"})
    assert values["WebPolicy.extra_blocked"] == ["a.example"]
