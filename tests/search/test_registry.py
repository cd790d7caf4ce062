"""Which providers there are, what is said of them, and which are asked."""

from __future__ import annotations

import importlib.metadata
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.search import providers
from jupyter_webresearch.search.foreign import ForeignProvider
from jupyter_webresearch.search.providers import BUILTIN, builtin_class
from tests.search.plugin_folders import GOOD, MANIFEST, named

KEYLESS = ["wikipedia", "crossref", "arxiv"]


def every_variable():
    """Return a value for each variable that any provider looks at."""
    abouts = [builtin_class(name).about for name in BUILTIN]
    values = {name: "key-" + name.lower() for about in abouts for name in (*about.keys, *about.also_needs)}
    return values | {name: "http://127.0.0.1:8889" for about in abouts for name in about.url_variables}


def names_of(chosen):
    return [provider.name for provider in chosen]


def refusal(registry, names=None, **need):
    with pytest.raises(BadInput) as caught:
        registry.choose(names, **need)
    assert caught.value.code == "provider_unavailable"
    assert "`jupyter webresearch providers`" in caught.value.message
    return caught.value


# What there is


def test_the_table_has_every_module_and_its_name():
    modules = {path.stem for path in Path(providers.__file__).parent.glob("[a-z]*.py")}
    assert {place.partition(":")[0] for place in BUILTIN.values()} == modules
    assert [builtin_class(name).about.name for name in BUILTIN] == list(BUILTIN)


def test_times_are_those_that_the_settings_say(home):
    registry = home.registry()
    assert {name: registry.seconds(name) for name in BUILTIN} == {
        name: builtin_class(name).about.timeout for name in BUILTIN
    }
    assert home.registry(timeout=5, provider_timeouts={"brave": 9}).seconds("brave") == 9
    assert home.registry(timeout=5).seconds("anything") == 5


def test_with_every_key_set_a_listing_asks_no_network(home, monkeypatch):
    def forbidden(*_arguments, **_named):
        raise AssertionError("a socket was asked for")

    for name in ("socket", "getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, forbidden)
    home.environ |= every_variable()
    home.add()
    rows = home.registry(enabled_plugins=["acme"]).rows()
    assert [row.name for row in rows] == [*BUILTIN, "acme"]
    assert {row.name for row in rows if not row.is_configured} <= {"ddgs"}  # whose package may not be there


def test_a_listing_is_cheap(tmp_path):
    code = (
        "import sys, pathlib; from jupyter_webresearch.config import WebSearch\n"
        "from jupyter_webresearch.search.registry import Registry\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "rows = Registry(WebSearch(), environ={}, data_folder=folder, config_folder=folder, entry_points=list).rows()\n"
        "print(len(rows), sorted({'lxml', 'trafilatura', 'IPython', 'tornado', 'ddgs'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{len(BUILTIN)} []"


def test_nothing_tells_a_key(home):
    home.environ |= every_variable()
    registry = home.registry(keys={"brave": "env:NOT_SET"})
    rows = registry.rows()
    told = json.dumps([row.to_json() for row in rows]) + repr(rows) + repr(vars(rows[0].provider.about))
    told += refusal(registry, ["brave"]).message + repr(registry)
    assert "key-" not in told
    assert "BRAVE_SEARCH_API_KEY of WebSearch.keys: the secret can't be used" in told


def test_a_row_says_what_is_missing(home):
    rows = {row.name: row.to_json() for row in home.registry().rows()}
    assert rows["brave"]["missing"] == ["BRAVE_SEARCH_API_KEY or BRAVE_API_KEY"]
    assert rows["brave"] | {"missing": 0} == {
        "name": "brave", "display_name": "Brave Search", "configured": False, "keyless": False,
        "abilities": ["web", "news", "images"], "origin": "built-in", "replaces": "", "plugin": "", "enabled": True,
        "missing": 0, "fault": "", "version": "", "description": "", "author": "",
    }  # fmt: skip
    assert (rows["wikipedia"]["configured"], rows["wikipedia"]["keyless"]) == (True, True)
    assert "extract" in rows["tavily"]["abilities"]


# Who is asked


def test_without_any_key_those_that_need_none_are_asked_side_by_side(home):
    chosen = names_of(home.registry().choose())
    assert [name for name in chosen if name != "ddgs"] == KEYLESS
    assert names_of(home.registry(default_providers=["arxiv", "openalex"]).choose()) == ["arxiv", "openalex"]


def test_of_them_only_those_are_asked_that_know_the_kind(home):
    assert names_of(home.registry().choose(kind="papers")) == ["crossref", "arxiv"]
    error = refusal(home.registry(default_providers=KEYLESS), kind="images")
    assert "no provider that is configured searches for images" in error.message


def test_the_first_that_is_configured_comes_before_them(home):
    home.environ["BRAVE_API_KEY"] = "b"
    assert names_of(home.registry().choose()) == ["brave"]
    home.environ["EXA_API_KEY"] = "e"
    assert names_of(home.registry().choose()) == ["exa"]
    assert names_of(home.registry().choose(kind="images")) == ["brave"]  # which exa does not know
    home.environ["SEARXNG_URL"] = "http://127.0.0.1:8889"
    assert names_of(home.registry().choose()) == ["searxng"]


@pytest.mark.parametrize("variable", ["OPENALEX_API_KEY", "NCBI_API_KEY", "S2_API_KEY"])
def test_a_key_that_only_widens_a_limit_makes_nobody_the_first(home, variable):
    home.environ[variable] = "k"
    assert set(names_of(home.registry().choose())) >= set(KEYLESS)


def test_settings_name_whom_to_ask(home):
    home.environ |= {"BRAVE_API_KEY": "b", "EXA_API_KEY": "e", "TAVILY_API_KEY": "t"}
    assert names_of(home.registry(backend="brave").choose()) == ["brave"]
    assert names_of(home.registry(backend="brave", search_backend="exa").choose()) == ["exa"]
    assert names_of(home.registry(backend="exa", extract_backend="tavily").choose(need="extract")) == ["tavily"]
    assert names_of(home.registry(backend="exa").choose(need="extract")) == ["exa"]


def test_pages_are_read_by_our_own_engine_unless_somebody_is_named(home):
    home.environ["TAVILY_API_KEY"] = "t"
    assert home.registry().choose(need="extract") == ()
    assert home.registry(backend="tavily", extract_backend="own").choose(need="extract") == ()
    assert home.registry(backend="tavily").choose(["own"], need="extract") == ()
    assert names_of(home.registry().choose(["tavily"], need="extract")) == ["tavily"]


def test_several_are_named_and_each_is_asked_once(home):
    assert names_of(home.registry().choose(["arxiv", "wikipedia", "arxiv"])) == ["arxiv", "wikipedia"]
    assert names_of(home.registry(search_backend="crossref").choose(["arxiv"])) == ["arxiv"]


@pytest.mark.parametrize(
    ("names", "need", "said"),
    [
        (["bravo"], {}, "there is no provider 'bravo'; do you mean brave?"),
        (["wikipedia", "x" * 500], {}, "there is no provider 'xxx"),
        (["own"], {}, "there is no provider 'own'"),
        (["brave"], {}, "brave can't be asked, missing: BRAVE_SEARCH_API_KEY or BRAVE_API_KEY; "
         "`jupyter webresearch providers setup brave`"),
        (["yandex"], {}, "YANDEX_CLOUD_FOLDER_ID"),
        (["searxng"], {}, "missing: SEARXNG_URL"),
        (["wikipedia"], {"kind": "news"}, "Wikipedia does not search for news, it can: web"),
        (["arxiv"], {"need": "extract"}, "arXiv does not read pages, it can: papers, web"),
    ],
)  # fmt: skip
def test_whoever_is_named_and_can_not_is_an_error_and_nobody_is_asked_instead(home, names, need, said):
    error = refusal(home.registry(), names, **need)
    assert said in error.message
    assert len(error.message) < 400


@pytest.mark.parametrize(
    ("settings", "need", "setting"),
    [
        ({"search_backend": "bravo"}, "search", "WebSearch.search_backend"),
        ({"backend": "brave"}, "search", "WebSearch.backend"),
        ({"backend": "own"}, "search", "WebSearch.backend"),
        ({"backend": "wikipedia"}, "extract", "WebSearch.backend"),
        ({"extract_backend": "tavily", "backend": "wikipedia"}, "extract", "WebSearch.extract_backend"),
    ],
)
def test_so_is_one_that_a_setting_names_and_the_setting_is_told(home, settings, need, setting):
    home.environ["EXA_API_KEY"] = "e"
    error = refusal(home.registry(**settings), need=need)
    assert error.setting == setting
    assert error.message.startswith(f"{setting} names ")


def test_a_provider_lasts_as_long_as_its_variables_do(home):
    registry = home.registry()
    (first,), (second,) = registry.choose(["openalex"]), registry.choose(["openalex"])
    assert first is second
    home.environ["OPENALEX_API_KEY"] = "new"
    (third,) = registry.choose(["openalex"])
    assert (third is first, third.key) == (False, "new")


# Plugins among them


def test_a_folder_is_listed_without_its_code_and_asked_once_it_is_enabled(home):
    home.add(code="raise SystemExit('run')")
    row = named(home.registry(), "acme")
    assert (row.enabled, row.is_configured, row.obstacle) == (
        False, False, "not enabled: jupyter webresearch providers enable acme",
    )  # fmt: skip
    assert (row.to_json()["version"], row.to_json()["author"]) == ("1.10", "A. Author")
    assert "not enabled" in refusal(home.registry(), ["acme"]).message


def test_a_plugin_that_is_there_is_asked_before_those_that_need_no_key(home):
    home.add()
    registry = home.registry(enabled_plugins=["acme"])
    (chosen,) = registry.choose()
    assert isinstance(chosen, ForeignProvider)
    assert named(registry, "acme").is_configured
    assert names_of(registry.choose(kind="papers")) == ["crossref", "arxiv"]  # a plugin is asked for the web only
    home.environ["BRAVE_API_KEY"] = "b"
    assert names_of(registry.choose()) == ["brave"]
    registry.close()


@pytest.mark.parametrize("by", ["enabled", "disabled"])
def test_what_is_disabled_is_not_run_whoever_enabled_it(home, by):
    home.add(code="raise SystemExit('run')")
    enabled = ["acme"] if by == "disabled" else []
    row = named(home.registry(enabled_plugins=enabled, disabled_plugins=["acme"]), "acme")
    assert (row.enabled, row.fault) == (False, "")


def point(name, module):
    return importlib.metadata.EntryPoint(name, module, "jupyter_webresearch.providers")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Return a maker of installed modules, and undo their imports."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    before = set(sys.modules)

    def make(module, code):
        (tmp_path / "site").mkdir(exist_ok=True)
        (tmp_path / "site" / f"{module}.py").write_text(code)
        return point(module.partition("_")[0], module)

    yield make
    for name in set(sys.modules) - before:
        if name.endswith("_of_tests"):
            del sys.modules[name]


def test_an_installed_package_is_asked_without_a_setting(home, packages):
    points = [packages("acme_of_tests", GOOD)]
    registry = home.registry(entry_points=lambda: points)
    assert (named(registry, "acme").origin, names_of(registry.choose())) == ("entry point", ["acme"])
    off = home.registry(entry_points=lambda: points, disabled_plugins=["acme"])
    assert named(off, "acme").enabled is False


def test_of_the_same_name_a_folder_counts_before_a_package_and_that_before_what_is_built_in(home, packages):
    code = GOOD.replace('"acme"', '"brave"')
    points = [packages("other_of_tests", code)]
    registry = home.registry(entry_points=lambda: points)
    row = named(registry, "brave")
    assert (row.origin, row.replaces) == ("entry point", "built-in")
    assert [row.name for row in registry.rows()].index("brave") == list(BUILTIN).index("brave")
    home.add(code, MANIFEST.replace("[acme]", "[brave]"))
    registry = home.registry(entry_points=lambda: points, enabled_plugins=["acme"])
    row = named(registry, "brave")
    assert (row.origin, row.replaces, row.plugin.name) == ("folder", "entry point", "acme")
    (chosen,) = registry.choose(["brave"])
    assert isinstance(chosen, ForeignProvider)


def test_two_folders_with_one_provider_are_named(home):
    home.add()
    home.add(name="later")
    rows = [row for row in home.registry(enabled_plugins=["acme", "later"]).rows() if row.name == "acme"]
    assert [(row.plugin.name, row.is_configured) for row in rows] == [("acme", True), ("later", False)]
    assert "the plugin acme has the provider 'acme' as well" in rows[1].fault


def test_a_broken_plugin_of_a_built_in_name_leaves_that_alone(home):
    home.add("1 / 0", MANIFEST.replace("[acme]", "[wikipedia]"))
    registry = home.registry(enabled_plugins=["acme"])
    rows = [row for row in registry.rows() if row.name == "wikipedia"]
    assert [(row.origin, row.is_configured) for row in rows] == [("built-in", True), ("folder", False)]
    assert not isinstance(registry.choose(["wikipedia"])[0], ForeignProvider)


def test_a_plugin_is_run_once(home):
    home.add(GOOD + "\nimport os\nos.environ['RUNS'] = os.environ.get('RUNS', '') + 'x'\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNS", "")
        registry = home.registry(enabled_plugins=["acme"])
        for _ in range(3):
            registry.rows()
            registry.choose()
        assert os.environ["RUNS"] == "x"


def test_what_a_provider_can_be_set_up_with(home):
    registry = home.registry()
    assert [each.name for each in registry.variables("brave")] == ["BRAVE_SEARCH_API_KEY"]
    assert [each.name for each in registry.variables("searxng")] == ["SEARXNG_URL"]
    folder = "YANDEX_CLOUD_FOLDER_ID"
    assert [each.name for each in registry.variables("yandex")] == ["YANDEX_CLOUD_API_KEY", folder]
    assert registry.variables("wikipedia") == []
    with pytest.raises(BadInput, match="there is no provider"):
        registry.variables("bravo")


def test_the_base_url_of_ones_own_is_known(home):
    home.environ["SEARXNG_URL"] = "http://10.0.0.7:8080/"
    (chosen,) = home.registry().choose(["searxng"])
    assert (chosen.base_url, chosen.base_is_configured) == ("http://10.0.0.7:8080", True)
