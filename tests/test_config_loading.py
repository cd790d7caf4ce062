"""Where settings come from, which one wins, and that the operator's files bind in both directions."""

from __future__ import annotations

import inspect
import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from traitlets.config import Config

from jupyter_webresearch.config import CONFIGURABLES, Settings, WebKernel, environment_name, settings_of
from jupyter_webresearch.config_loading import NARROWINGS, explain, load_settings
from jupyter_webresearch.config_sources import command_line_config, operator_directories
from jupyter_webresearch.config_traits import Hosts
from jupyter_webresearch.errors import Failed

EVERY = [(cls, name) for cls in CONFIGURABLES for name in settings_of(cls)]
FREE_TEXTS = ("contact", "accept_language", "agent_url", "ca_bundle", "model")


def ids(case):
    return f"{case[0].__name__}.{case[1]}"


def other_value(cls, name):
    """Return an allowed value that is not the default."""
    trait = settings_of(cls)[name]
    by_name = {
        "allow_private_networks": ["10.20.0.0/16", "fd00:1::/32"],
        "allowed_ports": [443, 9000],
        "extra_blocked": ["192.0.2.0/24", "*.example.com"],
        "allow_nat64": ["64:ff9b::/96"],
        "disabled_operations": ["search", "image"],
        "ceiling": ["*.example.com", "example.org"],
        "acting_ceiling": ["app.example.com"],
        "credentials": {
            "api.example.com": {"name": "a", "header": "X-Key", "source": "env:A_KEY", "prefix": "Key "},
        },
        "source_ipv4": "192.0.2.7",
        "source_ipv6": "2001:db8::7",
        "upstream_proxy": "http://proxy.example:3128",
        "upstream_proxy_credentials": "file:/run/secrets/proxy",
        "ca_bundle": "/etc/ssl/proxy.pem",
        "agent": "SomeBot",
        "agent_url": "https://example.org/bot",
        "price_per_search": {"brave": 0.005},
        "storage": "redis://redis.example:6379/0",
        "url": "http://127.0.0.1:8000/v1",
        "model": "small",
        "key": "keyring:classifier/us",
        "contact": "mailto:web@example.org",
        "accept_language": "de",
        "local_mode": "warn",
        "backend": "brave",
        "search_backend": "searxng",
        "extract_backend": "tavily",
        "default_providers": ["wikipedia", "arxiv"],
        "enabled_plugins": ["acme", "my_search"],
        "disabled_plugins": ["acme"],
        "keys": {"brave": "file:/run/secrets/brave", "TAVILY_API_KEY": "env:MY_KEY"},
        "provider_timeouts": {"xai": 90.0, "ddgs": 10.0, "brave": 5.0},
    }
    if name in by_name:
        return by_name[name]
    if isinstance(trait.default(), bool):
        return not trait.default()
    if "choices" in trait.metadata:
        return next(word for word in trait.metadata["choices"] if word != trait.default())
    low, high = trait.metadata["range"]
    return low if low != trait.default() else high


def text_of(value):
    if isinstance(value, dict):
        return json.dumps(value)
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


class Levels:
    """A user's and an operator's folder."""

    def __init__(self, root: Path) -> None:
        self.user, self.system, self.prefix = (root / name for name in ("user", "etc", "prefix"))
        for folder in (self.user, self.system, self.prefix):
            folder.mkdir()
        self.environ: dict[str, str] = {}

    def write(self, folder: Path, text: str | dict) -> Path:
        suffix = ".json" if isinstance(text, dict) else ".py"
        path = folder / f"jupyter_webresearch_config{suffix}"
        path.write_text(json.dumps(text) if isinstance(text, dict) else text, encoding="utf-8")
        return path

    def arguments(self, *cli: str):
        return {
            "cli": command_line_config(cli) if cli else None,
            "environ": self.environ,
            "config_path": [str(self.user), str(self.prefix), str(self.system)],
            "operator_path": [str(self.prefix), str(self.system)],
        }

    def load(self, *cli: str) -> Settings:
        return load_settings(**self.arguments(*cli))

    def explain(self, name: str, *cli: str):
        return next(setting for setting in explain(**self.arguments(*cli)) if setting.name == name)

    def refused(self, *cli: str) -> str:
        with pytest.raises(Failed) as caught:
            self.load(*cli)
        assert caught.value.code == "config"
        assert "\n" not in caught.value.message
        return caught.value.message


@pytest.fixture
def levels(tmp_path):
    return Levels(tmp_path)


# Each source, for every setting


@pytest.mark.parametrize("case", EVERY, ids=ids)
@pytest.mark.parametrize("as_json", [False, True], ids=["commas", "json"])
def test_the_environment_sets_it(levels, case, as_json):
    cls, name = case
    value = other_value(cls, name)
    variable = environment_name(cls, name)
    levels.environ[variable] = json.dumps(value) if as_json and isinstance(value, list) else text_of(value)
    setting = levels.explain(f"{cls.__name__}.{name}")
    assert setting.value == value
    assert setting.source == f"environment {variable}"


@pytest.mark.parametrize("case", EVERY, ids=ids)
def test_the_command_line_sets_it_and_wins_over_the_environment_and_the_file(levels, case):
    cls, name = case
    full = f"{cls.__name__}.{name}"
    trait = settings_of(cls)[name]
    levels.write(levels.user, {cls.__name__: {name: trait.default()}})
    levels.environ[environment_name(cls, name)] = text_of(trait.default())
    value = other_value(cls, name)
    setting = levels.explain(full, f"--{full}={text_of(value)}")
    assert setting.value == value
    assert setting.origin.startswith("command line")


@pytest.mark.parametrize("case", EVERY, ids=ids)
@pytest.mark.parametrize("kind", ["py", "json"])
def test_a_file_sets_it(levels, case, kind):
    cls, name = case
    value = other_value(cls, name)
    text = f"c = get_config()\nc.{cls.__name__}.{name} = {value!r}\n" if kind == "py" else {cls.__name__: {name: value}}
    path = levels.write(levels.user, text)
    setting = levels.explain(f"{cls.__name__}.{name}")
    assert setting.value == value
    assert setting.source == f"file {path}"


@pytest.mark.parametrize("case", EVERY, ids=ids)
@pytest.mark.parametrize("bad", ["[", "\u00e9\nb"])
def test_a_wrong_value_names_variable_and_setting(levels, case, bad):
    cls, name = case
    variable = environment_name(cls, name)
    levels.environ[variable] = bad
    if bad == "[" and name in FREE_TEXTS:
        assert levels.explain(f"{cls.__name__}.{name}").value == "["
        return
    if bad != "[" and isinstance(settings_of(cls)[name], Hosts):  # such an entry covers nothing and is named
        assert levels.explain(f"{cls.__name__}.{name}").value == [bad]
        return
    message = levels.refused()
    assert variable in message
    assert f"{cls.__name__}.{name}" in message


@pytest.mark.parametrize("case", EVERY, ids=ids)
@pytest.mark.parametrize("value", [{"a": -1}, [[1]], None], ids=repr)
def test_a_wrong_type_names_file_and_setting(levels, case, value):
    cls, name = case
    if value is None and settings_of(cls)[name].allow_none:
        levels.write(levels.user, {cls.__name__: {name: value}})
        assert levels.explain(f"{cls.__name__}.{name}").value is None
        return
    path = levels.write(levels.user, {cls.__name__: {name: value}})
    message = levels.refused()
    assert str(path) in message
    assert name in message
    assert cls.__name__ in message


@pytest.mark.parametrize("case", [c for c in EVERY if "range" in settings_of(c[0])[c[1]].metadata], ids=ids)
@pytest.mark.parametrize("source", ["command line", "environment", "file"])
def test_a_value_outside_its_range_stops_the_start(levels, case, source):
    cls, name = case
    full = f"{cls.__name__}.{name}"
    trait = settings_of(cls)[name]
    low, high = trait.metadata["range"]
    value = [high + 1] if isinstance(trait.default(), list) else high + 1
    cli = []
    if source == "command line":
        cli = [f"--{full}={text_of(value)}"]
    elif source == "environment":
        levels.environ[environment_name(cls, name)] = text_of(value)
        source = environment_name(cls, name)
    else:
        source = str(levels.write(levels.user, {cls.__name__: {name: value}}))
    message = levels.refused(*cli)
    assert source in message
    assert full in message
    assert f"{low} to {high}" in message


def test_a_wrong_value_is_refused_even_where_another_wins(levels):
    levels.write(levels.user, {"WebFetch": {"timeout": 9999}})
    assert "WebFetch.timeout" in levels.refused("--WebFetch.timeout=10")


def test_every_default_has_its_origin(levels):
    assert {setting.origin for setting in explain(**levels.arguments())} == {"default"}


def test_settings_equal_explained(levels):
    levels.environ["JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT"] = "11"
    settings = levels.load()
    sections = {type(section): section for section in vars(settings).values()}
    for setting in explain(**levels.arguments()):
        assert getattr(sections[setting.cls], setting.trait) == setting.value
    assert settings.fetch.timeout == 11.0


# Names that are none


@pytest.mark.parametrize("text", ["c.WebPolicy.allowed_port = [443]", "c.WebFetch.time_out = 5"])
def test_a_misspelt_trait_in_a_file_stops_the_start(levels, text):
    path = levels.write(levels.user, text)
    message = levels.refused()
    assert str(path) in message
    assert "do you mean" in message


@pytest.mark.parametrize("section", ["WebPolcy", "Webpolicy", "WebPolicies", "WebSearching", "WebPolicy2"])
def test_a_misspelt_class_in_a_file_stops_the_start(levels, section):
    path = levels.write(levels.system, {section: {"allowed_ports": [443]}})
    message = levels.refused()
    assert str(path) in message
    assert section in message


@pytest.mark.parametrize("section", ["ServerApp", "WebResearch", "WebResearchExtension", "LabApp"])
def test_other_classes_may_be_configured_in_the_same_file(levels, section):
    levels.write(levels.user, f"c.{section}.answer = 42\nc.WebFetch.timeout = 12")
    assert levels.load().fetch.timeout == 12


@pytest.mark.parametrize(
    "variable",
    [
        "JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOWED_PORT",
        "JUPYTER_WEBRESEARCH_WEBPOLCY_ALLOWED_PORTS",
        "JUPYTER_WEBRESEARCH_WEBFETCH_",
        "JUPYTER_WEBRESEARCH_WEPOLICY_EXTRA_BLOCKED",
        "JUPYTER_WEBRESEARCH_POLICY_EXTRA_BLOCKED",
        "JUPYTER_WEBRESEARCH_KERNEL_LOCAL_MODE",
        "jupyter_webresearch_webpolicy_extra_blocked",
    ],
)
def test_a_misspelt_variable_stops_the_start(levels, variable):
    levels.environ[variable] = "443"
    assert variable in levels.refused()


@pytest.mark.parametrize(
    "variable",
    ["JUPYTER_WEBRESEARCH_URL", "JUPYTER_WEBRESEARCH_CERT", "JUPYTER_WEBRESEARCH_PACK_MODE", "WEBFETCH_TIMEOUT"],
)
def test_other_variables_are_no_settings(levels, variable):
    levels.environ[variable] = "443"
    levels.load()


@pytest.mark.parametrize(
    "argument",
    ["--WebFetch.tiemout=5", "--WebFetch.timeout=soon", "--WebFetch.timeout=0", "--WebPolicy.allowed_ports=x",
     "--WebPolicy.allowed_ports=[80", "--WebPolicy.allowed_ports={80}", "--WebPolicy.allowed_ports=80,,443"],
)  # fmt: skip
def test_a_wrong_argument_stops_the_start(levels, argument):
    assert "command line" in levels.refused(argument)


@pytest.mark.parametrize("argument", ["--Foo.bar=1", "WebFetch.timeout=1", "--WebFetch.timeout", "-WebFetch.timeout=1"])
def test_an_argument_of_another_form_is_refused(argument):
    with pytest.raises(Failed) as caught:
        command_line_config([argument])
    assert argument.partition("=")[0] in caught.value.message


@pytest.mark.parametrize(
    "arguments",
    [
        ["--WebPolicy.allowed_ports=443,8443"],
        ["--WebPolicy.allowed_ports=[443, 8443]"],
        ["--WebPolicy.allowed_ports=443", "--WebPolicy.allowed_ports=8443"],
    ],
)
def test_a_list_on_the_command_line_has_several_forms(levels, arguments):
    assert levels.load(*arguments).policy.allowed_ports == [443, 8443]


@pytest.mark.parametrize("text", ['["10.0.0.0/8", "fd00::/8"]', "['10.0.0.0/8', 'fd00::/8']", "10.0.0.0/8, fd00::/8"])
def test_a_list_of_texts_has_several_forms(levels, text):
    levels.environ["JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOW_PRIVATE_NETWORKS"] = text
    assert levels.load().policy.allow_private_networks == ["10.0.0.0/8", "fd00::/8"]


def test_a_number_is_given_once(levels):
    assert "more than once" in levels.refused("--WebFetch.timeout=5", "--WebFetch.timeout=6")


def test_an_empty_variable_is_an_empty_list(levels):
    levels.environ["JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOWED_PORTS"] = ""
    assert levels.load().policy.allowed_ports == []


def test_a_servers_configuration_gives_values_of_the_right_type(levels):
    config = Config()
    config.WebFetch.timeout = 12
    config.ServerApp.port = 8888
    config.WebDavContents.root = "/"
    arguments = levels.arguments() | {"cli": config}
    assert load_settings(**arguments).fetch.timeout == 12.0


# Files


def test_json_wins_over_python_in_one_folder_and_the_user_over_the_system(levels):
    levels.write(levels.system, {"WebFetch": {"timeout": 11, "idle_timeout": 3, "dns_timeout": 2}})
    levels.write(levels.user, "c.WebFetch.timeout = 12\nc.WebFetch.idle_timeout = 4")
    levels.write(levels.user, {"WebFetch": {"timeout": 13}})
    fetch = levels.load().fetch
    assert (fetch.timeout, fetch.idle_timeout, fetch.dns_timeout) == (13, 4, 2)


@pytest.mark.parametrize(
    "text",
    ["c.WebFetch.timeout = ", "1/0", "import nothing_of_that_name", "raise SystemExit(0)", "c.WebFetch.Timeout = 3",
     "c.WebFetch = 3"],
)  # fmt: skip
@pytest.mark.parametrize("level", ["user", "system"])
def test_a_broken_python_file_stops_the_start(levels, text, level):
    path = levels.write(getattr(levels, level), text)
    assert f"file {path} is broken" in levels.refused()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"WebFetch": 3}', '{"WebFetch": {"timeout": 5},}', "\x00"])
def test_a_broken_json_file_stops_the_start(levels, text):
    path = levels.user / "jupyter_webresearch_config.json"
    path.write_text(text)
    assert str(path) in levels.refused()


def test_a_json_file_may_say_its_version(levels):
    levels.write(levels.user, {"version": 1, "WebFetch": {"timeout": 7}})
    assert levels.load().fetch.timeout == 7


@pytest.mark.parametrize("level", ["user", "system", "prefix"])
def test_a_file_that_can_not_be_read_stops_the_start(levels, level):
    path = levels.write(getattr(levels, level), "c.WebPolicy.allowed_ports = [443]")
    if os.name != "posix" or os.geteuid() == 0:  # root reads everything: have the operating system refuse otherwise
        path.unlink()
        path.mkdir()
    else:
        path.chmod(0)
    message = levels.refused()
    assert f"file {path} can't be read" in message


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_file_that_leads_in_a_circle_stops_the_start(levels):
    path = levels.system / "jupyter_webresearch_config.py"
    path.symlink_to(path)
    assert str(path) in levels.refused()


def test_folders_that_are_absent_or_no_folders_hold_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    places = [str(tmp_path / "absent"), str(tmp_path / "file")]
    load_settings(environ={}, config_path=places, operator_path=places)


def test_a_file_may_include_another(levels):
    (levels.user / "more.py").write_text("c.WebFetch.timeout = 9")
    levels.write(levels.user, "load_subconfig('more.py')")
    assert levels.load().fetch.timeout == 9


@pytest.mark.parametrize(
    ("edit", "ports"),
    [
        ("append(9000)", [80, 443, 8080, 8443, 9000]),
        ("extend([9000, 443])", [80, 443, 8080, 8443, 9000]),
        ("prepend([9000])", [9000, 80, 443, 8080, 8443]),
        ("insert(1, 9000)", [80, 9000, 443, 8080, 8443]),
    ],
)
def test_a_file_may_edit_a_list(levels, edit, ports):
    levels.write(levels.user, f"c.WebPolicy.allowed_ports.{edit}")
    assert levels.load().policy.allowed_ports == ports
    levels.write(levels.system, "c.WebPolicy.allowed_ports = [443]")
    assert levels.load().policy.allowed_ports == [443]


@pytest.mark.parametrize("edit", ["allowed_ports.append('x')", "allowed_ports.append(25)", "allowed_ports.add(9000)"])
def test_an_edit_is_checked_like_a_value(levels, edit):
    levels.write(levels.user, f"c.WebPolicy.{edit}")
    assert "WebPolicy.allowed_ports" in levels.refused()


def test_a_number_can_not_be_appended_to(levels):
    levels.write(levels.user, "c.WebFetch.timeout.append(3)")
    assert "WebFetch.timeout" in levels.refused()


def test_a_file_that_only_looks_sets_nothing(levels):
    levels.write(levels.user, "c.WebFetch.timeout; c.WebPolicy")
    assert levels.explain("WebFetch.timeout").origin == "default"


# The operator's level


OPERATORS = ["system", "prefix"]
USERS = ["file", "environment", "command line"]
# (setting, narrow, wide, what remains of both)
CONTRADICTIONS = [
    ("WebPolicy.allow_private_networks", [], ["10.0.0.0/8"], []),
    ("WebPolicy.allow_private_networks", ["10.1.0.0/16"], ["10.0.0.0/8"], ["10.1.0.0/16"]),
    ("WebPolicy.allow_private_networks", ["10.1.0.0/16", "fd00:1::/32"], ["0.0.0.0/0", "fd00::/8"],
     ["10.1.0.0/16", "fd00:1::/32"]),
    ("WebPolicy.allow_private_networks", ["10.0.0.0/8"], ["192.168.0.0/16"], []),
    ("WebPolicy.allow_private_networks", ["10.0.0.0/8"], ["::/0"], []),
    ("WebPolicy.allowed_ports", [443], [80, 443, 9000], [443]),
    ("WebPolicy.allowed_ports", [], [443], []),
    ("WebPolicy.allowed_ports", [80], [443], []),
    ("WebPolicy.allow_nat64", [], ["64:ff9b::/96"], []),
    ("WebKernel.local_mode", "deny", "allow", "deny"),
    ("WebKernel.local_mode", "warn", "allow", "warn"),
    ("WebKernel.local_mode", "deny", "warn", "deny"),
]  # fmt: skip


def give(levels, source, name, value):
    """Give a setting at a user's level; return the arguments for the command line."""
    cls, trait = name.split(".")
    if source == "file":
        levels.write(levels.user, {cls: {trait: value}})
    elif source == "environment":
        levels.environ[f"JUPYTER_WEBRESEARCH_{cls}_{trait}".upper()] = text_of(value)
    else:
        return [f"--{name}={text_of(value)}"]
    return []


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("source", USERS)
@pytest.mark.parametrize(("name", "narrow", "wide", "both"), CONTRADICTIONS)
def test_an_operators_narrow_ceiling_binds_a_user_who_asks_for_more(levels, operator, source, name, narrow, wide, both):
    cls, trait = name.split(".")
    path = levels.write(getattr(levels, operator), {cls: {trait: narrow}})
    cli = give(levels, source, name, wide)
    setting = levels.explain(name, *cli)
    assert setting.value == both
    assert setting.chosen == wide
    assert setting.narrowed_by == (f"file {path}",)
    assert setting.source.endswith(f"narrowed by file {path}")


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("source", USERS)
@pytest.mark.parametrize(("name", "narrow", "wide", "both"), CONTRADICTIONS)
def test_a_user_may_be_stricter_than_the_operator(levels, operator, source, name, narrow, wide, both):
    cls, trait = name.split(".")
    levels.write(getattr(levels, operator), {cls: {trait: wide}})
    cli = give(levels, source, name, narrow)
    setting = levels.explain(name, *cli)
    assert setting.value == both
    assert setting.chosen == narrow


@pytest.mark.parametrize(("name", "narrow", "wide", "both"), CONTRADICTIONS)
def test_two_operators_files_bind_each_other(levels, name, narrow, wide, both):
    cls, trait = name.split(".")
    levels.write(levels.prefix, {cls: {trait: wide}})
    levels.write(levels.system, {cls: {trait: narrow}})
    assert levels.explain(name).value == both


@pytest.mark.parametrize(("name", "narrow", "wide", "both"), CONTRADICTIONS)
def test_python_and_json_of_one_operator_bind_each_other(levels, name, narrow, wide, both):
    cls, trait = name.split(".")
    levels.write(levels.system, {cls: {trait: wide}})
    levels.write(levels.system, f"c.{name} = {narrow!r}")
    assert levels.explain(name).value == both


def test_an_operators_value_stands_where_no_user_chose(levels):
    path = levels.write(levels.system, {"WebPolicy": {"allowed_ports": [443, 9000]}})
    setting = levels.explain("WebPolicy.allowed_ports")
    assert setting.value == [443, 9000]
    assert setting.source == f"file {path}"


def test_a_user_sets_what_no_operator_mentions(levels):
    levels.write(levels.system, {"WebPolicy": {"allowed_ports": [443]}})
    levels.write(levels.user, {"WebPolicy": {"allow_private_networks": ["10.0.0.0/8"]}})
    policy = levels.load().policy
    assert policy.allowed_ports == [443]
    assert policy.allow_private_networks == ["10.0.0.0/8"]


def test_extra_blocked_grows_from_every_level(levels):
    levels.write(levels.system, {"WebPolicy": {"extra_blocked": ["a.example"]}})
    levels.write(levels.prefix, {"WebPolicy": {"extra_blocked": ["b.example"]}})
    levels.write(levels.user, "c.WebPolicy.extra_blocked.append('c.example')")
    levels.environ["JUPYTER_WEBRESEARCH_WEBPOLICY_EXTRA_BLOCKED"] = "*.d.example, 192.0.2.0/24"
    setting = levels.explain("WebPolicy.extra_blocked", "--WebPolicy.extra_blocked=e.example")
    assert sorted(setting.value) == ["*.d.example", "192.0.2.0/24", "a.example", "b.example", "c.example", "e.example"]
    for origin in ("command line", "environment", str(levels.user), str(levels.prefix), str(levels.system)):
        assert origin in setting.origin


@pytest.mark.parametrize("source", USERS)
def test_no_one_empties_extra_blocked(levels, source):
    levels.write(levels.system, {"WebPolicy": {"extra_blocked": ["a.example"]}})
    cli = give(levels, source, "WebPolicy.extra_blocked", [])
    assert levels.explain("WebPolicy.extra_blocked", *cli).value == ["a.example"]


def test_what_is_no_ceiling_goes_by_the_order_of_jupyter(levels):
    levels.write(levels.system, {"WebFetch": {"timeout": 5}})
    levels.write(levels.user, {"WebFetch": {"timeout": 50}})
    assert levels.load().fetch.timeout == 50


def test_an_operators_file_off_the_config_path_still_narrows_but_sets_nothing(levels):
    levels.write(levels.system, {"WebPolicy": {"allowed_ports": [443]}, "WebFetch": {"timeout": 5}})
    levels.write(levels.user, {"WebPolicy": {"allowed_ports": [80, 443]}})
    arguments = levels.arguments() | {"config_path": [str(levels.user)]}
    settings = load_settings(**arguments)
    assert settings.policy.allowed_ports == [443]
    assert settings.fetch.timeout == 30


def test_a_user_folder_that_is_a_link_to_the_operators_stays_the_operators(levels):
    link = levels.user.parent / "link"
    link.symlink_to(levels.system, target_is_directory=True)
    levels.write(levels.system, {"WebPolicy": {"allowed_ports": [443]}})
    levels.environ["JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOWED_PORTS"] = "80,443"
    arguments = levels.arguments() | {"config_path": [str(link)]}
    assert load_settings(**arguments).policy.allowed_ports == [443]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["10.0.0.0/8", "192.168.0.0/16"], ["10.1.0.0/16", "192.0.0.0/8"]),
        (["10.0.0.0/9", "10.128.0.0/9"], ["10.64.0.0/10", "10.128.0.0/10"]),
        (["0.0.0.0/0"], ["127.0.0.0/8", "10.0.0.0/8"]),
        (["fd00::/8"], ["fd00:1::/32", "fe80::/10", "10.0.0.0/8"]),
        (["10.0.0.1/32"], ["10.0.0.0/31", "10.0.0.2/32"]),
    ],
)
def test_networks_intersect_address_by_address(first, second):
    def contains(networks, address):
        return any(address in ipaddress.ip_network(network) for network in networks)

    edges = set()
    for network in map(ipaddress.ip_network, first + second):
        for edge in (int(network.network_address), int(network.broadcast_address)):
            for value in (edge - 1, edge, edge + 1):
                if 0 <= value < 2**network.max_prefixlen:
                    edges.add(type(network.network_address)(value))
    for one, other in ((first, second), (second, first)):
        common = NARROWINGS["networks"](one, other, None)
        for address in edges:
            assert contains(common, address) == (contains(one, address) and contains(other, address))


def test_every_narrowing_but_union_is_known():
    kinds = {settings_of(cls)[name].metadata.get("narrows") for cls, name in EVERY}
    assert kinds == {None, "union", *NARROWINGS}
    assert settings_of(WebKernel)["local_mode"].metadata["choices"] == ("allow", "warn", "deny")


# The machine's own folders


def test_the_operators_folders_are_the_machines():
    folders = operator_directories()
    assert str(Path(sys.prefix, "etc", "jupyter")) in folders
    if os.name == "posix":
        assert {"/etc/jupyter", "/usr/local/etc/jupyter"} <= set(folders)


IN_PROCESS = """
import sys, jupyter_core.paths
jupyter_core.paths.SYSTEM_CONFIG_PATH = [sys.argv[1]]
from jupyter_webresearch.config_loading import load_settings
print(load_settings().policy.allowed_ports)
"""


@pytest.mark.parametrize(
    "variables",
    [{}, {"JUPYTER_NO_CONFIG": "1"}, {"JUPYTER_PREFER_ENV_PATH": "1"}, {"JUPYTER_PREFER_ENV_PATH": "0"}],
    ids=str,
)
@pytest.mark.parametrize(
    ("system", "user", "expected"),
    [([443], [80, 443, 9000], {"[443]"}), ([80, 443, 9000], [443], {"[443]", "[80, 443, 9000]"})],
    ids=["narrow-system", "wide-system"],
)
def test_a_process_of_a_user_is_bound(tmp_path, variables, system, user, expected):
    levels = Levels(tmp_path)
    levels.write(levels.system, {"WebPolicy": {"allowed_ports": system}})
    levels.write(levels.user, {"WebPolicy": {"allowed_ports": user}})
    environ = {k: v for k, v in os.environ.items() if not k.startswith("JUPYTER_")}
    environ |= {"JUPYTER_CONFIG_DIR": str(levels.user), "HOME": str(tmp_path)} | variables
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESS, str(levels.system)], env=environ, capture_output=True, text=True, check=True
    )
    # With JUPYTER_NO_CONFIG no user's file is read; the operator's is all the same.
    assert done.stdout.strip() in (expected if "JUPYTER_NO_CONFIG" in variables else {"[443]"})


def test_loading_imports_no_server():
    code = (
        "import sys; from jupyter_webresearch.config_loading import load_settings; load_settings(environ={});"
        "print([m for m in ('jupyter_server', 'trafilatura', 'httpx', 'IPython', 'tornado') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_explain_and_load_take_the_same_arguments():
    assert list(inspect.signature(explain).parameters) == list(inspect.signature(load_settings).parameters)
