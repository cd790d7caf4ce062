"""Readers of what settings hold, and that no message or listing repeats a secret."""

from __future__ import annotations

import json
import re

import pytest
from traitlets import TraitError
from traitlets.config import Config

from jupyter_webresearch import cli
from jupyter_webresearch.config import CONFIGURABLES, Settings, WebPolicy, settings_of
from jupyter_webresearch.config_entries import (
    agent_token,
    credentials_table,
    endpoint,
    key_table,
    plugin_name,
    price_table,
    provider_name,
    proxy_address,
    secret_source,
    storage_address,
    timeout_table,
    without_password,
)
from jupyter_webresearch.config_loading import explain
from jupyter_webresearch.config_sources import command_line_config, command_line_level, environment_level
from jupyter_webresearch.config_traits import Line, Table, allowed
from jupyter_webresearch.doctor import installation
from jupyter_webresearch.errors import Failed
from tests.test_config_loading import Levels, other_value

SECRET = "hunter2-Zq9"
SECRETS = [
    SECRET,
    f"redis://:{SECRET}@redis.example:6379/0",
    f"redis://user:{SECRET}/x@redis.example:6379/0",
    f"redis://:{SECRET}@redis.example:port/0",
    f"redis://:{SECRET}\u2100@redis.example/0",
    f"http://user:{SECRET}@proxy.example:3128",
    f"http://[{SECRET}/",
    f"https://api.example/v1?key={SECRET}",
    f"{SECRET}\n",
    SECRET * 500,
]


def lines():
    return [(cls, name) for cls in CONFIGURABLES for name, trait in settings_of(cls).items() if isinstance(trait, Line)]


def ids(case):
    return f"{case[0].__name__}.{case[1]}"


@pytest.fixture
def levels(tmp_path):
    return Levels(tmp_path)


# Readers


@pytest.mark.parametrize("text", ["JupyterWebResearch", "a", "some-bot_x"])
def test_a_token_is_read(text):
    assert agent_token(text) == text


@pytest.mark.parametrize("text", ["", "a b", "Bot/1.0", "bot2", "*", "é", "a" * 65, "a\n"])
def test_what_is_no_token_is_refused(text):
    with pytest.raises(ValueError, match="RFC 9309"):
        agent_token(text)


@pytest.mark.parametrize(
    "text",
    ["env:API_KEY", "file:/run/secrets/key", "file:/a b/c", "file:C:\\keys\\key", "keyring:service/user",
     "keyring:my service/u@x/y"],
)  # fmt: skip
def test_a_source_of_a_secret_is_read(text):
    assert secret_source(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "API_KEY", "env:", "env: X", "ENV:X", "file:", "file:key", "file:~/key", "keyring:service", "keyring:/user",
     "keyring:service/", "sk-123", "vault:x", "env:A\n"],
)  # fmt: skip
def test_what_is_no_source_is_refused(text):
    with pytest.raises(ValueError, match="none of env:NAME"):
        secret_source(text)


@pytest.mark.parametrize("text", ["http://127.0.0.1:8000/v1", "https://api.example", "http://[::1]:80/v1/"])
def test_an_endpoint_is_read(text):
    assert endpoint(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "api.example", "ftp://api.example", "http://", "http://u@api.example", "http://api.example?x=1",
     "http://api.example#x", "http://api.example:70000", "http://api.example:x", "http://[::1", "http://a b/",
     "http://api.example\\x"],
)  # fmt: skip
def test_what_is_no_endpoint_is_refused(text):
    with pytest.raises(ValueError, match=r"URL|may hold no|holds a"):
        endpoint(text)


def test_a_proxy_has_a_host_and_a_port():
    assert proxy_address("http://proxy.example:3128/") == "http://proxy.example:3128"
    for text in ("https://proxy.example:3128", "http://proxy.example", "http://proxy.example:1/x", "socks5://p:1"):
        with pytest.raises(ValueError, match=r"URL|form"):
            proxy_address(text)


@pytest.mark.parametrize(
    "text",
    ["memory://", "redis://h:6379/0", "redis://h", "rediss://u:p@h:6380/1", "redis://:p%2Fw@h/0", "unix:///run/redis",
     "redis://[::1]:6379", "redis://h/0?protocol=3"],
)  # fmt: skip
def test_a_storage_is_read(text):
    assert storage_address(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "memory", "memory://x", "redis://", "redis:///0", "redis:h", "http://h", "file:///x", "unix://", "redis://h:x",
     "redis://:p/w@h:6379/0", "redis://u:1/w@h/0", "redis://u:p#w@h/0", "redis://u:1?w@h/0", "redis://h /0"],
)  # fmt: skip
def test_what_is_no_storage_is_refused(text):
    with pytest.raises(ValueError, match=r"none of memory|URL|password|space"):
        storage_address(text)


def test_credentials_take_canonical_form_that_reads_the_same():
    table = credentials_table(
        {
            "API.München.de.": {"source": "env:A"},
            "b.example": {"name": "b", "source": "file:/b", "header": "X-Key"},
            "c.example": {"source": "keyring:c/me", "prefix": "Token "},
        }
    )
    assert table == {
        "api.xn--mnchen-3ya.de": {
            "name": "api.xn--mnchen-3ya.de", "header": "Authorization", "source": "env:A", "prefix": "Bearer ",
        },
        "b.example": {"name": "b", "header": "X-Key", "source": "file:/b", "prefix": ""},
        "c.example": {"name": "c.example", "header": "Authorization", "source": "keyring:c/me", "prefix": "Token "},
    }  # fmt: skip
    assert credentials_table(table) == table
    assert WebPolicy(credentials=table).credentials == table


@pytest.mark.parametrize(
    "table",
    [
        {"*.a.example": {"source": "env:A"}},
        {"https://a.example": {"source": "env:A"}},
        {"a.example:443": {"source": "env:A"}},
        {"[2606:4700::1]": {"source": "env:A"}},
        {"a.example": {"source": "env:A"}, "A.example": {"source": "env:B"}},
        {"": {"source": "env:A"}},
        {3: {"source": "env:A"}},
        {"a.example": "env:A"},
        {"a.example": {}},
        {"a.example": {"source": "A"}},
        {"a.example": {"source": 3}},
        {"a.example": {"source": "env:A", "value": "x"}},
        {"a.example": {"source": "env:A", "name": "a b"}},
        {"a.example": {"source": "env:A", "name": ""}},
        {"a.example": {"source": "env:A", "header": "X Key"}},
        {"a.example": {"source": "env:A", "header": "X-Key: a\r\nX"}},
        {"a.example": {"source": "env:A", "header": "Host"}},
        {"a.example": {"source": "env:A", "header": "cookie"}},
        {"a.example": {"source": "env:A", "prefix": "a\r\nX: "}},
        {"a.example": {"source": "env:A", "prefix": "é"}},
    ],
    ids=lambda table: str(table)[:60],
)
def test_credentials_that_can_not_be_read_are_refused(table):
    with pytest.raises(ValueError, match=r"\S"):
        credentials_table(table)
    with pytest.raises(TraitError, match=r"^WebPolicy\.credentials: "):
        WebPolicy(credentials=table)


def test_prices_are_dollars():
    assert price_table({"brave": 1, "ddgs": 0}) == {"brave": 1.0, "ddgs": 0.0}
    for price in (-0.1, 1001, float("nan"), float("inf"), 10**400, True, "1", None):
        with pytest.raises(ValueError, match="0 to 1,000"):
            price_table({"brave": price})
    with pytest.raises(ValueError, match="0 to 1,000"):
        price_table({3: 1.0})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("memory://", "memory://"),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("redis://:p@h:6379/0", "redis://...@h:6379/0"),
        ("rediss://user:p%40w@h/0", "rediss://...@h/0"),
        ("redis://h/0?password=p", "redis://h/0?..."),
        ("unix:///run/redis?password=p#x", "unix:///run/redis?..."),
        ("redis://u:p/w@q@h/0", "redis://...@h/0"),
        ("--WebBudget.storage=redis://u:p@h/0", "--WebBudget.storage=redis://...@h/0"),
    ],
)
def test_a_password_is_left_out(url, shown):
    assert without_password(url) == shown


@pytest.mark.parametrize("text", ["brave", "semantic-scholar", "9x", "a" * 64])
def test_a_providers_name_is_read(text):
    assert provider_name(text) == text


@pytest.mark.parametrize("text", ["", "Brave", "-a", "a_b", "a b", "a.b", "é", "a\n", "a" * 65])
def test_what_is_no_providers_name_is_refused(text):
    with pytest.raises(ValueError, match="it has other characters"):
        provider_name(text)


@pytest.mark.parametrize(("text", "fits"), [("my_search", True), ("My-Search", True), ("../x", False), (".x", False)])
def test_a_plugins_name_leads_nowhere_else(text, fits):
    if fits:
        assert plugin_name(text) == text
    else:
        with pytest.raises(ValueError, match="it has other characters"):
            plugin_name(text)


def test_keys_are_named_by_provider_or_variable_and_kept_elsewhere():
    table = {"brave": "env:MY_BRAVE", "TAVILY_API_KEY": "file:/run/secrets/tavily", "exa": "keyring:exa/us"}
    assert key_table(table) == table
    for wrong in ({"brave": SECRET}, {SECRET: "env:A"}, {"brave": ["env:A"]}, {3: "env:A"}, {"Brave": "env:A"}):
        with pytest.raises(ValueError, match=r"^(entry 1 is named|brave: it is none of)") as caught:
            key_table(wrong)
        assert SECRET not in str(caught.value)


def test_the_time_of_a_slow_provider_stays_unless_named():
    assert timeout_table({"brave": 5}) == {"xai": 90.0, "ddgs": 30.0, "brave": 5.0}
    assert timeout_table({"ddgs": 10})["ddgs"] == 10.0
    for wrong in (
        {"brave": 0.5},
        {"brave": 601},
        {"brave": True},
        {"Brave": 5},
        {"brave": "5"},
        {"brave": float("nan")},
    ):
        with pytest.raises(ValueError, match="is not a provider's time"):
            timeout_table(wrong)


# What messages and listings say


@pytest.mark.parametrize("case", lines(), ids=ids)
@pytest.mark.parametrize("text", SECRETS)
def test_no_message_repeats_a_line(levels, case, text):
    cls, name = case
    full = f"{cls.__name__}.{name}"
    path = levels.write(levels.user, {cls.__name__: {name: text}})
    reports = []
    for load in (
        lambda: levels.load(),
        lambda: environment_level({f"JUPYTER_WEBRESEARCH_{cls.__name__}_{name}".upper(): text}),
        lambda: command_line_level(command_line_config([f"--{full}={text}"])),
        lambda: command_line_level(Config({cls.__name__: {name: [text]}})),
    ):
        try:
            load()
        except Failed as error:
            reports.append(error.message)
    assert reports  # of the wrong type at the least
    for report in reports:
        assert full in report
        assert SECRET not in report.replace(str(path), "")


@pytest.mark.parametrize("value", [SECRET, [SECRET], {"a.example": SECRET}, {"a.example": {"source": SECRET}}])
def test_no_message_repeats_a_table(levels, value):
    for setting in ({"WebPolicy": {"credentials": value}}, {"WebSearch": {"keys": value}}):
        levels.write(levels.user, setting)
        assert SECRET not in levels.refused()
    with pytest.raises(Failed) as caught:
        environment_level({"JUPYTER_WEBRESEARCH_WEBPOLICY_CREDENTIALS": f"{{'a.example': {SECRET}"})
    assert SECRET not in caught.value.message


@pytest.mark.parametrize(
    "argument",
    [f"--WebBudget.storage=redis://:{SECRET}@h/0", f"redis://:{SECRET}@h/0", f"--Other.x={SECRET}"],
)
def test_no_message_repeats_the_value_of_a_misspelt_argument(argument):
    with pytest.raises(Failed) as caught:
        command_line_config([argument])
    assert SECRET not in caught.value.message


STORAGE = f"redis://user:{SECRET}@redis.example:6379/0"


def test_the_listings_show_the_storage_without_its_password(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBBUDGETS_STORAGE", STORAGE)
    for arguments in (["config"], ["config", "--json"]):
        assert cli.main(arguments) == 0
        out, err = capsys.readouterr()
        assert "redis://...@redis.example:6379/0" in out
        assert SECRET not in out + err


def test_neither_value_nor_choice_is_told_where_the_operator_has_another(levels):
    levels.write(levels.system, {"WebBudgets": {"storage": STORAGE}})
    setting = levels.explain("WebBudgets.storage", f"--WebBudgets.storage={STORAGE}x")
    assert setting.value == STORAGE
    assert SECRET not in json.dumps(setting.to_json())
    assert setting.narrowed_by


def test_the_doctor_does_not_tell_it(monkeypatch, levels):
    from jupyter_core import paths

    levels.write(levels.system, {"WebBudgets": {"storage": STORAGE}})
    monkeypatch.setattr(paths, "SYSTEM_CONFIG_PATH", [str(levels.system)])
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(levels.user))
    _, finding = installation.read_settings(None, {"JUPYTER_WEBRESEARCH_WEBBUDGETS_STORAGE": f"{STORAGE}x"})
    assert (finding.state, SECRET in str(finding)) == ("ok", False)


# Traits


@pytest.mark.parametrize("case", lines(), ids=ids)
def test_a_line_is_one_line(case):
    cls, name = case
    for text in ("a\nb", "\x1b", "\u202e", "x" * 2049):
        with pytest.raises(TraitError, match=f"{cls.__name__}.{name}: this is not one line"):
            setattr(cls(), name, text)
    setattr(cls(), name, "")
    setattr(cls(), name, other_value(cls, name))


@pytest.mark.parametrize(("trait", "wrong"), [("source_ipv4", "::1"), ("source_ipv6", "127.0.0.1")])
def test_a_source_address_is_of_its_version(trait, wrong):
    for text in (wrong, "localhost", "127.0.0.1/8", "fe80::1%eth0/"):
        with pytest.raises(TraitError, match=f"WebPolicy.{trait}"):
            WebPolicy(**{trait: text})


def test_operations_are_known_words():
    assert WebPolicy(disabled_operations=["search", "fetch", "search"]).disabled_operations == ["search", "fetch"]
    with pytest.raises(TraitError, match="each one of fetch, search, image, browser"):
        WebPolicy(disabled_operations=["Search"])


def test_hosts_stay_as_they_were_written_without_repeats():
    policy = WebPolicy(ceiling=["B.example", "*", "B.example", ""])
    assert policy.ceiling == ["B.example", "*", ""]
    assert WebPolicy().ceiling is None
    assert WebPolicy(ceiling=[]).ceiling == []
    assert WebPolicy(ceiling="a.example").ceiling == ["a.example"]
    for wrong in ([3], {"a": 1}, 3):
        with pytest.raises(TraitError, match=r"WebPolicy\.ceiling"):
            WebPolicy(ceiling=wrong)


def test_every_line_and_table_says_its_form():
    for cls in CONFIGURABLES:
        for name, trait in settings_of(cls).items():
            if isinstance(trait, (Line, Table)):
                assert allowed(trait), name
                assert not re.search(r"\W$", allowed(trait)) or allowed(trait).endswith(")")


def test_defaults_survive_a_second_reading():
    settings = Settings()
    for setting in explain(environ={}, config_path=[], operator_path=[]):
        section = next(each for each in vars(settings).values() if type(each) is setting.cls)
        setattr(section, setting.trait, setting.value)
