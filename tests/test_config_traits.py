"""Every setting refuses what lies outside its stated range, and its default lies inside."""

from __future__ import annotations

import re

import pytest
from traitlets import List, TraitError
from traitlets.config import Config
from traitlets.config.loader import DeferredConfigString

from jupyter_webresearch.config import (
    BAD_PORTS,
    CONFIGURABLES,
    WebBudgets,
    WebClassifier,
    WebExtraction,
    WebFetch,
    WebJournal,
    WebKernel,
    WebPolicy,
    WebSearch,
    environment_name,
    settings_of,
)
from jupyter_webresearch.config_loading import NARROWINGS
from jupyter_webresearch.config_sources import command_line_level
from jupyter_webresearch.config_traits import allowed, blocked_entry
from jupyter_webresearch.errors import Failed

EVERY = [(cls, name) for cls in CONFIGURABLES for name in settings_of(cls)]
RANGED = [(cls, name) for cls, name in EVERY if "range" in settings_of(cls)[name].metadata]


def ids(case):
    return f"{case[0].__name__}.{case[1]}"


def wrap(trait, value):
    return [value] if isinstance(trait, List) else value


@pytest.mark.parametrize("case", EVERY, ids=ids)
def test_a_setting_is_described(case):
    cls, name = case
    trait = settings_of(cls)[name]
    assert trait.help.endswith(".")
    assert environment_name(cls, name) == f"JUPYTER_WEBRESEARCH_{cls.__name__.upper()}_{name.upper()}"
    setattr(cls(), name, trait.default())  # the default itself is allowed


@pytest.mark.parametrize("case", [c for c in EVERY if c[0] is WebPolicy], ids=ids)
def test_every_policy_setting_is_a_ceiling(case):
    assert settings_of(case[0])[case[1]].metadata["narrows"] in ("union", *NARROWINGS)


@pytest.mark.parametrize("case", [c for c in EVERY if c[0] in (WebBudgets, WebJournal, WebClassifier)], ids=ids)
def test_so_is_every_setting_of_budgets_journal_and_classifier(case):
    assert settings_of(case[0])[case[1]].metadata["narrows"] in NARROWINGS


def test_so_are_local_mode_and_what_robots_txt_calls_us():
    assert settings_of(WebKernel)["local_mode"].metadata["narrows"] == "strictest"
    assert settings_of(WebFetch)["agent"].metadata["narrows"] == "operator"


@pytest.mark.parametrize(
    "name",
    [
        "backend",
        "search_backend",
        "extract_backend",
        "default_providers",
        "enabled_plugins",
        "disabled_plugins",
        "keys",
    ],
)
def test_so_is_who_is_asked_with_which_keys_and_whose_code_is_run(name):
    assert settings_of(WebSearch)[name].metadata["narrows"] in ("union", *NARROWINGS)


@pytest.mark.parametrize("case", EVERY, ids=ids)
def test_a_number_has_a_range(case):
    trait = settings_of(case[0])[case[1]]
    if isinstance(trait.default(), (int, float)) and not isinstance(trait.default(), bool):
        low, high = trait.metadata["range"]
        assert low <= trait.default() <= high


@pytest.mark.parametrize("case", RANGED, ids=ids)
@pytest.mark.parametrize("end", [0, 1])
def test_the_ends_of_a_range_are_inside(case, end):
    cls, name = case
    trait = settings_of(cls)[name]
    value = trait.metadata["range"][end]
    if value in BAD_PORTS and cls is WebPolicy:
        value += 1
    setattr(cls(), name, wrap(trait, value))


@pytest.mark.parametrize("case", RANGED, ids=ids)
@pytest.mark.parametrize("beyond", [-1, 1])
def test_beyond_a_range_is_refused_with_name_and_range(case, beyond):
    cls, name = case
    trait = settings_of(cls)[name]
    low, high = trait.metadata["range"]
    value = low - 1 if beyond < 0 else high + 1
    with pytest.raises(TraitError) as caught:
        setattr(cls(), name, wrap(trait, value))
    assert f"{cls.__name__}.{name}" in str(caught.value)
    assert f"{low} to {high}" in str(caught.value)
    assert allowed(trait) in str(caught.value)


@pytest.mark.parametrize("case", RANGED, ids=ids)
@pytest.mark.parametrize("value", [True, "5", None, float("nan"), float("inf")], ids=repr)
def test_what_is_no_number_is_refused(case, value):
    cls, name = case
    with pytest.raises(TraitError):
        setattr(cls(), name, value)


def test_a_float_without_fraction_is_a_count():
    assert WebFetch(max_redirects=3.0).max_redirects == 3
    with pytest.raises(TraitError):
        WebFetch(max_redirects=3.5)


@pytest.mark.parametrize("port", sorted(BAD_PORTS - {0}))
def test_a_bad_port_can_not_be_allowed(port):
    with pytest.raises(TraitError, match="bad-port list"):
        WebPolicy(allowed_ports=[443, port])


@pytest.mark.parametrize("value", ["443", [443, "80"], [True], 443], ids=repr)
def test_ports_are_a_list_of_numbers(value):
    with pytest.raises(TraitError):
        WebPolicy(allowed_ports=value)


@pytest.mark.parametrize("word", ["Allow", "", "never", "allow "])
def test_local_mode_is_one_of_three_words(word):
    with pytest.raises(TraitError, match="one of allow, warn, deny"):
        WebKernel(local_mode=word)


@pytest.mark.parametrize("name", ["allow_private_networks", "allow_nat64", "extra_blocked"])
@pytest.mark.parametrize(
    "entry",
    ["", "*", "10.0.0.1/8", "10.0.0.0/33", "fe80::%eth0/64", "::1/200", "http://example.com/", "example.com:80", "a b",
     "10.0.0.0/8,", "a..b", "*.", "*.*.example.com", "a@b", "exa\tmple.com", "\u202eexample.com"],
)  # fmt: skip
def test_an_entry_that_can_not_be_read_is_refused(name, entry):
    with pytest.raises(TraitError, match=rf"WebPolicy\.{name}"):
        WebPolicy(**{name: [entry]})


@pytest.mark.parametrize("entry", ["example.com", "*.example.com", "64:ff9b::/95", "64:ff9b::/97", "10.0.0.0/8"])
def test_a_nat64_prefix_has_96_bits(entry):
    with pytest.raises(TraitError, match=r"WebPolicy\.allow_nat64"):
        WebPolicy(allow_nat64=[entry])
    assert WebPolicy(allow_nat64=["64:FF9B:0::/96"]).allow_nat64 == ["64:ff9b::/96"]


@pytest.mark.parametrize(
    ("entry", "canonical"),
    [
        ("Example.COM", "example.com"),
        ("example.com.", "example.com"),
        ("*.Bücher.example", "*.xn--bcher-kva.example"),
        ("10.20.0.0/16", "10.20.0.0/16"),
        ("192.0.2.7", "192.0.2.7/32"),
        ("2001:DB8:0::/32", "2001:db8::/32"),
        ("[2001:db8::1]", "2001:db8::1/128"),
        ("my_bucket.s3.example", "my_bucket.s3.example"),
    ],
)
def test_a_blocked_entry_takes_canonical_form(entry, canonical):
    assert blocked_entry(entry) == canonical
    assert WebPolicy(extra_blocked=[entry, entry]).extra_blocked == [canonical]


@pytest.mark.parametrize("name", ["contact", "accept_language"])
@pytest.mark.parametrize("text", ["a\r\nX-Evil: 1", "a\nb", "\x00", "\x7f", "é", "a" * 201], ids=repr)
def test_text_for_a_header_can_not_add_another(name, text):
    with pytest.raises(TraitError, match=rf"WebFetch\.{name}"):
        WebFetch(**{name: text})


def test_a_nan_is_outside_of_every_range():
    with pytest.raises(TraitError):
        WebExtraction(wall_time=float("nan"))


WRONG = ["x", "", None, True, 1.5, 10**12, -1, {}, ["x"], [None], [1.5], [{}], "1,x", "[1", b"x", "\N{SNOWMAN}" * 3]
OF_A_LIBRARY = re.compile(
    r"trait of|instance|expected|invalid literal|could not convert|Deferred|\b(Int|Ports|Unicode)\b"
)


@pytest.mark.parametrize("case", EVERY, ids=ids)
def test_every_message_names_the_setting_and_nothing_of_a_library(case):
    cls, name = case
    seen = 0
    for wrong in WRONG:
        given = Config({cls.__name__: {name: wrong}})
        deferred = Config({cls.__name__: {name: DeferredConfigString(wrong)}}) if isinstance(wrong, str) else given
        for config in (given, deferred):
            try:
                command_line_level(config)
            except Failed as error:
                seen += 1
                assert f"{cls.__name__}.{name}: " in error.message
                assert not OF_A_LIBRARY.search(error.message), error.message
                assert allowed(settings_of(cls)[name]).removeprefix("each ") in error.message
    assert seen
