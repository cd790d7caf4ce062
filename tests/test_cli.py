"""The contract of the command line: exit status, one clear line on standard error, what goes to standard output."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from jupyter_webresearch import cli
from jupyter_webresearch.commands.check_url import urls_of
from jupyter_webresearch.commands.output import PhaseLine, one_line
from jupyter_webresearch.config import CONFIGURABLES, settings_of
from jupyter_webresearch.errors import CODES
from tests.sites import Site

CASES = Path(__file__).parent / "cases"
COMPLAINT = re.compile(r"jupyter webresearch: ([a-z_]+): \S.*\n")


class Outcome:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def complaint(self, status=1):
        """Return the code of the one line on standard error."""
        assert self.status == status, self.err
        match = COMPLAINT.fullmatch(self.err)
        assert match, self.err
        assert match[1] in CODES
        return match[1]

    def success(self):
        assert self.status == 0, self.err
        assert self.err == ""
        return self.out


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch, tmp_path):
    """Read no configuration of the machine that runs the tests."""
    for name in [name for name in os.environ if name.startswith("JUPYTER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture
def run(capsys):
    def run(*arguments):
        capsys.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        return Outcome(status, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def site():
    with Site() as site:
        yield site


@pytest.fixture
def opened(site):
    return [
        "--WebPolicy.allow_private_networks=127.0.0.0/8",
        f"--WebPolicy.allowed_ports=[{site.port}]",
        "--WebExtraction.workers=1",
    ]


# Usage


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["fetch"],
        ["fetch", "a.example", "b.example"],
        ["fetch", "a.example", "--js"],
        ["fetch", "a.example", "--max", "5"],
        ["fetch", "a.example", "--max-bytes", "0"],
        ["fetch", "a.example", "--max-bytes", "many"],
        ["fetch", "a.example", "--max-bytes", "1_000"],
        ["fetch", "a.example", "--max-bytes", " 5"],
        ["fetch", "a.example", "--max-bytes", "٣٣"],
        ["fetch", "a.example", "--max-bytes", "1e5"],
        ["fetch", "a.example", "--offset", "9" * 5000],
        ["fetch", "a.example", "--offset", "-1"],
        ["fetch", "a.example", "-H", "no colon"],
        ["fetch", "a.example", "-H", ": value"],
        ["fetch", "a.example", "-H"],
        ["fetch", "a.example", "--Foo.bar=1"],
        ["fetch", "a.example", "--WebFetch.tiemout=1"],
        ["fetch", "a.example", "--WebFetch.timeout=soon"],
        ["fetch", "a.example", "--WebFetch.timeout=100000"],
        ["fetch", "a.example", "--WebFetch.timeout"],
        ["fetch", "a.example", "--WebPolicy.allowed_ports=25"],
        ["fetch", "a.example", "--WebPolcy.allowed_ports=443"],
        ["extract", "-"],
        ["extract", "--url", "https://a.example/"],
        ["check-url"],
        ["check-url", "a.example", "--from-file", "x"],
        ["config", "extra"],
        ["doctor", "--verbose"],
        ["--nothing", "config"],
    ],
    ids=lambda arguments: " ".join(arguments)[:60],
)
def test_usage_is_status_2_and_one_line(run, arguments):
    outcome = run(*arguments)
    assert outcome.complaint(2) == "bad_request"
    assert outcome.out == ""


@pytest.mark.parametrize("command", [[], ["fetch"], ["extract"], ["check-url"], ["config"], ["doctor"]], ids=str)
def test_help_has_what_it_needs(run, command):
    text = run(*command, "--help").success()
    assert text.startswith("usage: jupyter webresearch")
    if command not in (["doctor"],):
        assert "examples:" in text


@pytest.mark.parametrize("fault", [ZeroDivisionError("a\nb"), MemoryError(), RecursionError("deep"), AssertionError()])
def test_a_fault_of_ours_is_one_line(run, monkeypatch, fault):
    def broken(*_):
        raise fault

    monkeypatch.setattr("jupyter_webresearch.policy.guard.Guard.verdict", broken)
    outcome = run("check-url", "https://example.org/")
    assert outcome.complaint() == "internal"
    assert type(fault).__name__ in outcome.err


def test_a_warning_is_one_line_that_says_whose(run):
    storage = "--WebBudgets.storage=redis://127.0.0.1:1/0"
    assert run("policy", storage).err == ""  # that counts of what ended go later is nobody's business
    text = run("policy", storage, "--WebBudgets.when_unavailable=local", "--WebBudgets.site_per_minute=7").err
    assert re.fullmatch("jupyter webresearch: warning: .*counted in this process alone\n", text)


def test_version(run):
    assert re.fullmatch(r"jupyter-webresearch \d+\.\d+\.\d+\n", run("--version").success())


@pytest.mark.parametrize("cls", CONFIGURABLES, ids=lambda cls: cls.__name__)
def test_every_setting_can_be_given_before_or_after_the_command(run, cls):
    for name, trait in settings_of(cls).items():
        value = trait.default()
        text = ",".join(map(str, value)) if isinstance(value, list) else value
        for arguments in (["config", f"--{cls.__name__}.{name}={text}"], [f"--{cls.__name__}.{name}={text}", "config"]):
            line = next(x for x in run(*arguments).success().splitlines() if x.startswith(f"{cls.__name__}.{name} ="))
            assert line.endswith("\tcommand line")


# check-url


def lines_of(name):
    return (CASES / name).read_text(encoding="utf-8").rstrip("\n").split("\n")


def test_every_hostile_url_without_dns_is_refused_or_left_to_dns(run):
    """Names are judged when they are resolved; every other line of the case file is refused at once."""
    stub = json.loads((CASES / "ssrf_dns_stub.json").read_text(encoding="utf-8"))
    outcome = run("check-url", "--from-file", CASES / "ssrf_urls.txt", "--json")
    verdicts = [json.loads(line) for line in outcome.out.splitlines()]
    assert [verdict["url"] for verdict in verdicts] == [line.split("\t")[0] for line in lines_of("ssrf_urls.txt")]
    names = {name.lower().rstrip(".") for name in stub["refuse"]}
    for verdict in verdicts:
        if verdict["verdict"] == "allowed":
            host = re.match(r"https?://([^/:?#]+)", verdict["url"], re.IGNORECASE)[1]
            assert host.lower().rstrip(".") in names, verdict["url"]
    assert sum(verdict["verdict"] == "refused" for verdict in verdicts) > len(verdicts) / 2
    assert outcome.complaint() in CODES


def test_every_harmless_url_is_allowed(run):
    out = run("check-url", "--from-file", CASES / "ok_urls.txt").success()
    for line, case in zip(out.splitlines(), lines_of("ok_urls.txt"), strict=True):
        assert line.startswith(f"allowed\tok\t{case.split(chr(9))[0]}")


@pytest.mark.parametrize("line", lines_of("ssrf_urls_ctrl.jsonl"), ids=lambda line: ascii(json.loads(line)["url"]))
def test_urls_with_control_characters_are_refused_on_one_line(run, line):
    url = json.loads(line)["url"]
    outcome = run("check-url", "--", url)
    outcome.complaint()
    assert re.fullmatch(r"refused\t\w+\t[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\n", outcome.out)
    as_json = run("check-url", "--json", "--", url)
    assert json.loads(as_json.out)["url"] == url
    assert as_json.out.count("\n") == 1


def test_a_verdict_has_four_keys(run):
    out = run("check-url", "--json", "https://example.com/").success()
    verdict = json.loads(out)
    assert list(verdict) == ["url", "verdict", "code", "reason"]
    assert (verdict["url"], verdict["verdict"], verdict["code"]) == ("https://example.com/", "allowed", "ok")


def test_all_urls_are_judged_and_the_first_refusal_is_told(run):
    outcome = run("check-url", "https://example.com/", "ftp://example.com/", "http://127.0.0.1/", "https://example.org")
    assert [line.split("\t")[:2] for line in outcome.out.splitlines()] == [
        ["allowed", "ok"],
        ["refused", "unsupported_scheme"],
        ["refused", "blocked_address"],
        ["allowed", "ok"],
    ]
    assert outcome.complaint() == "unsupported_scheme"
    assert "2 of 4 URLs" in outcome.err


def test_check_url_obeys_the_settings(run):
    assert run("check-url", "https://example.com:9000/").complaint() == "blocked_port"
    run("check-url", "https://example.com:9000/", "--WebPolicy.allowed_ports=9000").success()
    assert run("check-url", "https://a.example.com/", "--WebPolicy.extra_blocked=*.example.com").complaint()


@pytest.mark.parametrize(
    ("data", "urls"),
    [
        (b"https://a.example/\nhttps://b.example/\n", ["https://a.example/", "https://b.example/"]),
        (b"https://a.example/\r\n\r\n\nhttps://b.example/", ["https://a.example/", "https://b.example/"]),
        (b" https://a.example/ \n", [" https://a.example/ "]),
        (b"https://a.example/\tcomment\n", ["https://a.example/"]),
        (b"\thttps://a.example/\n", ["\thttps://a.example/"]),
        (b"\n \n", [" "]),
        ("https://a.example/\x0b\x85\u2028b\n".encode(), ["https://a.example/\x0b\x85\u2028b"]),
        (b"https://\xff.example/\n", ["https://\udcff.example/"]),
        (b"\xef\xbb\xbfhttps://a.example/", ["\ufeffhttps://a.example/"]),
        (b"", []),
    ],
    ids=ascii,
)
def test_nothing_of_a_line_is_stripped(data, urls):
    assert urls_of(data) == urls


def test_urls_come_from_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"https://a.example/\nhttps://\xff/\n")))
    outcome = run("check-url", "--from-file", "-")
    assert outcome.complaint() == "invalid_url"
    assert outcome.out.splitlines()[1].endswith("\\udcff/")


def test_a_file_that_is_not_there(run, tmp_path):
    assert run("check-url", "--from-file", tmp_path / "absent").complaint() == "not_found"
    assert run("extract", tmp_path, "--url", "https://a.example/").complaint() == "not_found"
    assert run("extract", "a\0b", "--url", "https://a.example/").complaint() == "not_found"


# config


def test_config_shows_value_and_origin_of_every_setting(run, monkeypatch):
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT", "11")
    text = run("config", "--WebPolicy.allowed_ports=443").success()
    assert "WebFetch.timeout = 11.0 s\tenvironment JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT\n" in text
    assert "WebPolicy.allowed_ports = [443]\tcommand line\n" in text
    settings = {s["name"]: s for s in json.loads(run("config", "--json", "--WebPolicy.allowed_ports=443").success())}
    assert set(settings) == {f"{cls.__name__}.{name}" for cls in CONFIGURABLES for name in settings_of(cls)}
    assert settings["WebPolicy.allowed_ports"]["value"] == [443]
    assert settings["WebPolicy.allowed_ports"]["origin"] == "command line"
    assert settings["WebFetch.idle_timeout"]["origin"] == "default"
    assert len(text.splitlines()) == len(settings)


def test_config_shows_only_what_differs_from_the_defaults(run, monkeypatch):
    assert run("config", "--changed").success() == ""
    assert json.loads(run("config", "--changed", "--json").success()) == []
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT", "11")
    given = ("--WebPolicy.allowed_ports=443", "--WebFetch.max_redirects=5")  # the second is the default
    lines = run("config", "--changed", *given).success().splitlines()
    assert [line.split()[0] for line in lines] == ["WebPolicy.allowed_ports", "WebFetch.timeout"]
    rows = json.loads(run("config", "--changed", "--json", *given).success())
    assert [row["name"] for row in rows] == ["WebPolicy.allowed_ports", "WebFetch.timeout"]


def test_config_shows_what_was_narrowed_to_the_default(run, monkeypatch, tmp_path):
    from jupyter_core import paths

    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "jupyter_webresearch_config.json").write_text('{"WebPolicy": {"trust_env_proxy": false}}')
    monkeypatch.setattr(paths, "SYSTEM_CONFIG_PATH", [str(tmp_path / "etc")])
    lines = run("config", "--changed", "--WebPolicy.trust_env_proxy=True").success().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("WebPolicy.trust_env_proxy = false\tcommand line, narrowed by file ")


@pytest.mark.parametrize("command", [["config"], ["fetch", "a.example"], ["check-url", "a.example"]], ids=str)
def test_a_broken_configuration_is_status_1(run, monkeypatch, command):
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT", "never")
    outcome = run(*command)
    assert outcome.complaint() == "config"
    assert "JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT" in outcome.err


def test_a_misspelt_setting_in_a_file_is_status_1(run, tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "jupyter_webresearch_config.py").write_text("c.WebPolicy.allowed_port = [443]")
    outcome = run("check-url", "a.example")
    assert outcome.complaint() == "config"
    assert "allowed_ports" in outcome.err


# fetch


@pytest.mark.parametrize("variable", ["JPY_PARENT_PID", "JPY_SESSION_NAME"])
def test_where_kernels_may_not_read_by_themselves_what_they_start_may_not_either(run, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    outcome = run("fetch", "http://10.0.0.1/", "--WebKernel.local_mode=deny")
    assert outcome.complaint() == "unauthorized"
    assert "WebKernel.local_mode" in outcome.err
    assert run("fetch", "http://10.0.0.1/").complaint() == "blocked_address"
    monkeypatch.delenv(variable)
    assert run("fetch", "http://10.0.0.1/", "--WebKernel.local_mode=deny").complaint() == "blocked_address"


def test_fetch_prints_the_page(run, site, opened):
    text = run("fetch", site.url("/article"), *opened).success()
    head, _, body = text.partition("\n\n")
    assert head.startswith(f"url: {site.url('/article')}\ncontent-type: text/html")
    assert body


def test_fetch_as_json_has_the_keys_of_a_page(run, site, opened):
    page = json.loads(run("fetch", site.url("/article"), "--json", *opened).success())
    assert {"markdown", "text", "title", "metadata", "links", "tables", "source", "url", "status"} <= set(page)
    assert page["url"] == site.url("/article")


def test_fetch_sends_what_is_asked(run, site, opened):
    arguments = ["-X", "put", "-H", "X-One: 1", "--header", "X-Two:2", "-d", '{"q": "é"}', "--json", *opened]
    page = json.loads(run("fetch", site.url("/echo"), *arguments).success())
    seen = json.loads(page["markdown"])
    headers = {name.lower(): value for name, value in seen["headers"]}
    assert seen["method"] == "PUT"
    assert headers["x-one"] == "1"
    assert headers["x-two"] == "2"
    assert seen["body"].encode("latin-1").decode() == '{"q": "é"}'


def test_a_body_makes_it_a_post(run, site, opened):
    page = json.loads(run("fetch", site.url("/echo"), "-d", "", "--json", *opened).success())
    assert json.loads(page["markdown"])["method"] == "POST"


def test_fetch_reads_on_without_gap(run, site, opened):
    url = site.url("/article?words=2000")
    whole = json.loads(run("fetch", url, "--json", *opened).success())["markdown"]
    shown = run("fetch", url, "--max-bytes", 3000, *opened).success()
    offset = int(re.search(r"\[truncated at \d+ of \d+ bytes\] --offset (\d+)\n\Z", shown)[1])
    assert whole[:offset].strip() in shown
    second = json.loads(run("fetch", url, "--max-bytes", 3000, "--offset", offset, "--json", *opened).success())
    assert whole[offset:].startswith(second["markdown"])


def test_raw_is_the_source(run, site, opened):
    assert "<h1>" in run("fetch", site.url("/article"), "--raw", *opened).success()


def test_a_bad_status_fails_and_any_status_shows_it(run, site, opened):
    url = site.url("/status?code=404")
    outcome = run("fetch", url, "--json", *opened)
    assert outcome.complaint() == "http_status"
    assert "404" in outcome.err
    assert "--any-status" in outcome.err
    error = json.loads(outcome.out)
    assert error["code"] == "http_status"
    assert error["page"]["status"] == 404
    assert "status: 404" in run("fetch", url, "--any-status", *opened).success()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["http://127.0.0.1/"], "blocked_address"),
        (["http://localhost/"], "blocked_host"),
        (["https://example.com:25/"], "blocked_port"),
        (["ftp://example.com/"], "unsupported_scheme"),
        (["https://user@example.com/"], "invalid_url"),
        (["https://example.com/", "-X", "TRACE"], "blocked_method"),
        (["https://example.com/", "-H", "Host: other.example"], "blocked_header"),
        (["https://example.com/", "-d", "x" * 2_000, "--WebFetch.max_request_body=1000"], "request_too_large"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_refusal_is_status_1_and_one_line(run, arguments, code, as_json):
    outcome = run("fetch", *arguments, *(["--json"] if as_json else []))
    assert outcome.complaint() == code
    assert (json.loads(outcome.out)["code"] == code) if as_json else outcome.out == ""


@pytest.mark.parametrize("command", ["fetch", "check-url"])
@pytest.mark.parametrize(
    ("url", "setting"),
    [
        ("https://example.com:9000/", "WebPolicy.allowed_ports"),
        ("https://example.com:25/", ""),
        ("http://10.0.0.1/", "WebPolicy.allow_private_networks"),
        ("http://169.254.169.254/", ""),
        ("http://metadata.google.internal/", ""),
        ("http://127.0.0.2:8888/", "WebPolicy.allow_private_networks"),
        ("http://8.8.8.8/", "WebPolicy.extra_blocked"),
        ("ftp://example.com/", ""),
        ("http://[/", ""),
    ],
)
def test_the_setting_that_governs_a_refusal_is_named_and_no_other(run, command, url, setting):
    said = run(command, url, "--WebPolicy.extra_blocked=8.8.8.8").err
    assert set(re.findall(r"Web[A-Z][a-z]+\.\w+", said)) == ({setting} if setting else set())


def test_where_a_folder_is_missing_the_message_says_to_create_it(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run("fetch", "https://example.com/", "--save", "sub/y")
    assert outcome.complaint() == "save_refused"
    assert "create it first" in outcome.err
    assert "notebook" not in outcome.err


def test_the_governing_setting_is_named(run):
    assert "WebPolicy.allowed_ports" in run("fetch", "https://example.com:9000/").err


def test_save_writes_the_body(run, site, opened, tmp_path):
    target = tmp_path / "data.bin"
    arguments = ["fetch", site.url("/attachment?size=1000"), "--save", target, *opened]
    text = run(*arguments).success()
    assert str(target) in text
    assert target.stat().st_size == 1000
    assert run(*arguments).complaint() == "file_exists"
    assert run(*arguments, "--force").status == 0
    folder = tmp_path / "folder"
    folder.mkdir()
    text = run("fetch", site.url("/attachment?size=10"), "--save", folder, *opened).success()
    [saved] = folder.iterdir()
    assert str(saved) in text
    page = json.loads(run(*arguments, "--force", "--json").success())
    assert page["saved"]["bytes"] == 1000
    assert run("fetch", site.url(), "--save", tmp_path / "absent" / "x", *opened).complaint() == "save_refused"


# extract


def test_extract_makes_a_page_of_a_file(run, tmp_path):
    file = tmp_path / "page.html"
    file.write_text("<title>Tides</title><article><h1>Tides</h1><p>" + "High water at noon. " * 40 + "</article>")
    page = json.loads(run("extract", file, "--url", "https://a.example/x", "--json").success())
    assert page["url"] == "https://a.example/x"
    assert "High water at noon" in page["markdown"]
    assert page["source"]["sha256"]


def test_extract_reads_standard_input_and_obeys_the_content_type(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("größe;1\n".encode("cp1252"))))
    arguments = ["extract", "-", "--url", "https://a.example/x", "--content-type", "text/csv; charset=windows-1252"]
    page = json.loads(run(*arguments, "--json").success())
    assert page["kind"] == "csv"
    assert page["markdown"].startswith("größe;1")


def test_what_can_not_be_extracted_fails(run, tmp_path):
    file = tmp_path / "x.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    outcome = run("extract", file, "--url", "https://a.example/x", "--json")
    assert outcome.complaint() == "unsupported_content"
    assert json.loads(outcome.out)["code"] == "unsupported_content"
    assert run("extract", file, "--url", "not a url").complaint() == "invalid_url"


# What reaches a terminal


@pytest.mark.parametrize("character", [*map(chr, range(32)), "\x7f", "\x9b", "\u202e", "\u2028", "\udcff"], ids=ascii)
def test_one_line_shows_nothing_that_commands_a_terminal(character):
    assert one_line(f"a{character}b") == f"a\\u{ord(character):04x}b"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def in_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for variable in ("JPY_PARENT_PID", "JPY_SESSION_NAME"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("in_a_terminal")
@pytest.mark.parametrize(
    "variables",
    [{"TERM": "dumb"}, {"TERM": ""}, {"TERM": None}, {"JPY_PARENT_PID": "17"}, {"JPY_SESSION_NAME": "a.ipynb"}],
    ids=str,
)
@pytest.mark.skipif(os.name == "nt", reason="terminals of Windows have no TERM")
def test_no_phases_where_they_would_stay(monkeypatch, variables):
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    for before in (True, False):
        with PhaseLine() as on_phase:
            on_phase("connecting")
        assert bool(err.getvalue()) == before
        err.seek(0)
        err.truncate()
        for name, value in variables.items():
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("in_a_terminal")
@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
@pytest.mark.parametrize("command", ["fetch", "extract"])
def test_no_phases_when_none_are_wanted(site, opened, monkeypatch, tmp_path, command, quiet):
    (tmp_path / "x.txt").write_bytes(b"words")
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    what = [site.url("/plain")] if command == "fetch" else [str(tmp_path / "x.txt"), "--url", "https://a.example/x"]
    assert cli.main([command, *what, quiet, *opened]) == 0
    assert err.getvalue() == ""


def test_a_cell_that_runs_the_command_shows_the_page_and_nothing_else(tmp_path):
    file = tmp_path / "x.txt"
    file.write_bytes(b"the only words")
    cell = f"!{sys.executable} -m jupyter_webresearch extract {file} --url https://a.example/x"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(notebook, kernel_name="python3", timeout=60).execute()
    shown = "".join(output.text for output in notebook.cells[0].outputs)
    assert "the only words" in shown
    assert "extracting" not in shown
    assert not re.search("\r(?!\n)", shown)


@pytest.mark.usefixtures("in_a_terminal")
def test_a_terminal_gets_no_escape_sequences_from_a_page(monkeypatch, tmp_path):
    file = tmp_path / "x.txt"
    file.write_bytes(b"one\n\x1b]0;title\x07two\tthree\n")
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert cli.main(["extract", str(file), "--url", "https://a.example/x", "--content-type", "text/plain"]) == 0
    assert "\x1b" not in out.getvalue()
    assert "\x07" not in out.getvalue()
    assert "two\tthree" in out.getvalue()
    # The phase stood on a line of its own, which is gone at the end; blanks do it, which every terminal knows.
    assert "\rextracting ..." in err.getvalue()
    assert err.getvalue().endswith("\r" + " " * len("extracting ...") + "\r")
    assert "\x1b" not in err.getvalue()


@pytest.mark.usefixtures("in_a_terminal")
def test_phases_are_shown_live_on_a_terminal(site, opened, monkeypatch):
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert cli.main(["fetch", site.url("/article"), *opened]) == 0
    phases = re.findall(r"\r(\w+) \.\.\.", err.getvalue())
    assert phases[-1] == "extracting"
    assert "connecting" in phases
    assert "\n" not in err.getvalue()


@pytest.mark.parametrize("size", ["0", "1", "3", "-1", "x", "", "4.5"])
def test_a_size_too_small_is_a_usage_error(size, capsys):
    assert cli.main(["fetch", "https://example.org/", f"--max-bytes={size}"]) == 2
    assert "whole number of at least 4" in capsys.readouterr().err
