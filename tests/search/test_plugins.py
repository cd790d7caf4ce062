"""Plugins that are broken, hostile or not the user's: each is a row with its fault, and harms nothing else."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from jupyter_webresearch.search.plugin_code import PREFIX
from jupyter_webresearch.search.provider import WebSearchProvider
from jupyter_webresearch.search.providers import BUILTIN
from jupyter_webresearch.search.registration import Context
from tests.search.plugin_folders import GOOD, MANIFEST, named

BUILT_IN = len(BUILTIN)


def fault(home, code=GOOD, manifest=MANIFEST, **arguments):
    """Return what is wrong with a plugin, whose fellow works."""
    home.add(code, manifest, **arguments)
    home.add(GOOD.replace('"acme"', '"fellow"'), MANIFEST.replace("acme", "fellow"), name="fellow")
    registry = home.registry(enabled_plugins=["acme", "fellow"])
    try:
        assert named(registry, "fellow").is_configured
        assert len(registry.rows()) == BUILT_IN + 2
        row = named(registry, arguments.get("name", "acme"))
        assert not row.is_configured
        return row.fault
    finally:
        registry.close()


# Code


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def register(ctx:", "its code failed: SyntaxError"),
        ("1 / 0", "its code failed: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "its code failed: SystemExit: 3"),
        ("raise KeyboardInterrupt", "its code failed: KeyboardInterrupt"),
        ("raise StopIteration", "its code failed: StopIteration"),
        ("import not_there_at_all", "its code failed: ModuleNotFoundError"),
        ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "its code failed: E"),
        ("x = 1", "it has no function register(ctx) at top level"),
        ("def register(ctx): pass", "its register(ctx) has registered no provider"),
        ("async def register(ctx): pass", "register(ctx) must be a plain function"),
        ("def register(ctx): ctx.register_tool()", "AttributeError"),
        ("raise ValueError('https://u:hunter2-Zq9@h/ \\x1b[31m')", "its code failed: ValueError"),
    ],
)
def test_code_that_fails_is_named(home, code, said):
    found = fault(home, code)
    assert said in found
    assert "hunter2" not in found
    assert "\x1b" not in found


def test_a_module_that_fails_is_not_left_half_imported(home):
    before = set(sys.modules)
    fault(home, "1 / 0")
    assert not [name for name in set(sys.modules) - before if name.startswith(f"{PREFIX}acme")]


HANGS = """
import threading
def register(ctx):
    threading.Event().wait()
"""


def test_code_that_hangs_is_left_behind(home):
    home.add(HANGS)
    registry = home.registry(enabled_plugins=["acme"], load_seconds=0.2)
    assert named(registry, "acme").fault == "its code hangs: it did not return within 0.2 s"
    assert len(registry.rows()) == BUILT_IN + 1
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "webresearch-plugin-acme"] == [True]


@pytest.mark.parametrize(
    ("method", "seconds", "said"),
    [
        ("threading.Event().wait()", 0.2, "is_available hangs: it did not return within 0.2 s"),
        ("raise SystemExit", 20, "is_available failed: SystemExit"),
        ("return undefined", 20, "is_available failed: NameError"),
    ],
)
def test_an_availability_that_can_not_be_had_is_a_fault(home, method, seconds, said):
    home.add("import threading\n" + GOOD.replace("return True", method))
    registry = home.registry(enabled_plugins=["acme"], available_seconds=seconds)
    assert said in named(registry, "acme").fault
    threads = sum(thread.name == "webresearch-plugin-acme" for thread in threading.enumerate())
    registry.rows()
    assert sum(thread.name == "webresearch-plugin-acme" for thread in threading.enumerate()) == threads


def test_an_availability_that_is_a_coroutine_is_a_fault(home):
    code = GOOD.replace("def is_available", "async def is_available")
    assert "is_available must be a plain method" in fault(home, code)


def test_whoever_is_not_available_says_what_is_missing(home):
    manifest = MANIFEST + "requires_env: [ACME_KEY, {name: ACME_ID, prompt: Number, url: https://acme.example}]\n"
    home.add("import os\n" + GOOD.replace("return True", "return False"), manifest)
    home.environ["ACME_ID"] = "7"
    registry = home.registry(enabled_plugins=["acme"])
    row = named(registry, "acme")
    assert (row.missing, row.fault, row.provider.about.keyless) == (("ACME_KEY",), "", False)
    told = registry.variables("acme")[1]
    assert (told.name, told.prompt, told.url) == ("ACME_ID", "Number", "https://acme.example")
    home.environ["ACME_KEY"] = "8"
    assert named(registry, "acme").missing == ("it says that it is not available",)


def test_a_plugin_finds_in_its_environment_what_was_kept_for_it(home):
    code = "import os\n" + GOOD.replace("return True", "return True if os.environ else True")
    home.add(code, MANIFEST + "requires_env: [ACME_KEY, ACME_ID]\n")
    registry = home.registry(enabled_plugins=["acme"], keys={"ACME_ID": "env:ELSEWHERE"})
    registry.key_file.keep({"ACME_KEY": "kept", "OTHER_KEY": "not for it"})
    home.environ |= {"ELSEWHERE": "named"}
    registry.rows()
    assert {name: home.environ.get(name) for name in ("ACME_KEY", "ACME_ID", "OTHER_KEY")} == {
        "ACME_KEY": "kept", "ACME_ID": "named", "OTHER_KEY": None,
    }  # fmt: skip


def test_a_plugin_may_have_modules_and_a_name_that_packages_have(home):
    folder = home.add("from .inner import Acme, register", name="json")
    (folder / "inner.py").write_text(GOOD)
    registry = home.registry(enabled_plugins=["json"])
    assert named(registry, "acme").is_configured
    import json

    assert not json.__name__.startswith(PREFIX)


def test_a_second_registry_has_a_plugin_of_its_own(home):
    home.add()
    first, second = home.registry(enabled_plugins=["acme"]), home.registry(enabled_plugins=["acme"])
    assert named(first, "acme").provider is not named(second, "acme").provider


# Registration


class Bare:
    """Inherits nothing."""

    name = "bare"

    def is_available(self):
        return True

    def search(self, query, limit=5):
        return []


def variant(**changes):
    return type("Variant", (Bare,), changes)()


class OnlySearches(WebSearchProvider):
    name = "only"

    def is_available(self):
        return True

    def search(self, query, limit=5):
        return []


class ClaimsToExtract(OnlySearches):
    def supports_extract(self):
        return True


class DoesNothing(WebSearchProvider):
    name = "nothing"

    def is_available(self):
        return True


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (
            variant(supports_extract=lambda self: True),
            "the provider 'bare' claims to extract and has no method extract",
        ),
        (variant(search=None), "the provider 'bare' claims to search and has no method search"),
        (variant(search="text"), "the provider 'bare' claims to search and has no method search"),
        (ClaimsToExtract(), "the provider 'only' claims to extract and has no method extract"),
        (DoesNothing(), "the provider 'nothing' claims to search and has no method search"),
        (variant(supports_search=lambda self: False), "the provider 'bare' can neither search nor extract"),
        (variant(name="Bare"), "the name 'Bare' can't be used"),
        (variant(name="a_b"), "the name 'a_b' can't be used"),
        (variant(name="-a"), "the name '-a' can't be used"),
        (variant(name=""), "the name '' can't be used"),
        (variant(name="own"), "the name 'own' can't be used: it means our own engine"),
        (variant(name=None), "the provider Variant has no name"),
        (variant(is_available=None), "the provider 'bare' has no method is_available"),
        (Bare, "Bare is a class; register an instance"),
        (object(), "the provider object has no name"),
    ],
)
def test_what_breaks_the_contract_is_refused_by_name(provider, said):
    context = Context()
    with pytest.raises(ValueError, match="^" + said.replace("(", r"\(")):
        context.register_web_search_provider(provider)
    assert context.registered == []
    assert len(context.refused) == 1


@pytest.mark.parametrize("provider", [Bare(), OnlySearches()])
def test_what_is_not_said_is_what_the_contract_says(provider):
    context = Context()
    context.register_web_search_provider(provider)
    (found,) = context.registered
    assert (found.searches, found.extracts, found.display_name) == (True, False, provider.name)
    with pytest.raises(ValueError, match="registered twice"):
        context.register_web_search_provider(provider)


def test_a_refusal_that_the_plugin_swallows_is_told_all_the_same(home):
    code = GOOD.replace("    ctx.register_web_search_provider(Acme())", "    try:\n        "
                        "ctx.register_web_search_provider(3)\n    except ValueError:\n        pass")  # fmt: skip
    assert "the provider int has no name" in fault(home, code)


def test_only_what_plugin_yaml_declares_is_registered(home):
    code = GOOD.replace('"acme"', '"brave"')
    assert "the provider 'brave' is not among provides_web_providers" in fault(home, code)


def test_nothing_is_registered_later():
    context = Context()
    context.close()
    with pytest.raises(ValueError, match="while register"):
        context.register_web_search_provider(Bare())


def test_one_plugin_may_have_several_providers(home):
    code = GOOD + "    other = Acme(); other.name = 'acme-news'; ctx.register_web_search_provider(other)\n"
    home.add(code, MANIFEST.replace("[acme]", "[acme, acme-news]"))
    rows = home.registry(enabled_plugins=["acme"]).rows()
    assert [row.name for row in rows[BUILT_IN:]] == ["acme", "acme-news"]


# plugin.yaml


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (None, "plugin.yaml is missing"),
        ("", "plugin.yaml is no table"),
        ("[1, 2]", "plugin.yaml is no table"),
        ("a: [", "plugin.yaml is not YAML"),
        ("a: !!python/object/apply:os.abort []", "plugin.yaml says kind: nothing"),
        (MANIFEST.replace("backend", "tool"), "says kind: tool; only backend"),
        (MANIFEST.replace("[acme]", "[]"), "names no provider"),
        (MANIFEST.replace("[acme]", "acme"), "has no short list in provides_web_providers"),
        (MANIFEST.replace("[acme]", "[Acme]"), "a name in provides_web_providers that can't be used"),
        (MANIFEST + "requires_env: [A-B]", "an entry in requires_env that names no environment variable"),
        (MANIFEST + "requires_env: {A: 1}", "has no short list in requires_env"),
        ("#" + "x" * 70000, "plugin.yaml is longer than 65,536 bytes"),
        ("[" * 60000, "plugin.yaml is not YAML"),
        ("\x00", "plugin.yaml is not YAML"),
    ],
    ids=range(14),
)
def test_a_manifest_that_can_not_be_used_is_named(home, manifest, said):
    if manifest is not None and "object/apply" in manifest:
        manifest += "\nprovides_web_providers: [acme]"
    assert said in fault(home, manifest=manifest)


def test_a_manifest_that_would_grow_is_read_at_once(home):
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    home.add(manifest=MANIFEST + "\n".join(lines))
    assert named(home.registry(enabled_plugins=["acme"]), "acme").is_configured


def test_a_folder_without_code_is_named(home):
    folder = home.add()
    (folder / "__init__.py").unlink()
    assert named(home.registry(enabled_plugins=["acme"]), "acme").fault == "it has no __init__.py"


# Whose it is


@pytest.mark.parametrize("what", ["", "__init__.py", "plugin.yaml", "..", "../.."])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_change_is_not_run(home, what, mode):
    folder = home.add("raise SystemExit")
    path = (folder / what).resolve()
    path.chmod(path.stat().st_mode | mode)
    found = named(home.registry(enabled_plugins=["acme"]), "acme")
    assert f"others may change {path.name}" in found.fault


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["", "__init__.py", "deep/code.py"])
def test_what_belongs_to_another_is_not_run(home, what):
    folder = home.add("raise SystemExit")
    (folder / "deep").mkdir()
    (folder / "deep" / "code.py").touch()
    os.chown(folder / what, 65534, 65534)
    assert "belongs to another user" in named(home.registry(enabled_plugins=["acme"]), "acme").fault


@pytest.mark.parametrize("what", ["", "__init__.py", "extra"])
def test_a_link_is_not_followed(home, tmp_path, what):
    folder = home.add()
    if what:
        (tmp_path / "elsewhere").write_text("raise SystemExit")
        (folder / what).unlink(missing_ok=True)
        (folder / what).symlink_to(tmp_path / "elsewhere")
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    assert "is a link" in named(home.registry(enabled_plugins=["acme"]), "acme").fault


def test_a_folder_with_a_name_that_is_none_is_named_and_others_are_passed_over(home):
    home.add(name="a b")
    home.add(name=".hidden")
    home.add(name="__pycache__")
    rows = home.registry().rows()[BUILT_IN:]
    assert [row.name for row in rows] == ["a b"]
    assert "its name can't be used" in rows[0].fault
