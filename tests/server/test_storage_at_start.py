"""A storage of budgets that can't be used stops the server's start; one that does not answer is named in its log."""

from __future__ import annotations

import http.client
import logging
from pathlib import Path

import pytest
import trustme

from tests.server.running import Caller, ServerProcess, ThreadServer, free_port, wait_until

ENABLED = "--ServerApp.jpserver_extensions={'jupyter_webresearch': True}"
SECRET = "hunter2-Zq9"
WITHOUT_PACKAGE = 'raise ModuleNotFoundError("No module named \'redis\'", name="redis")\n'


@pytest.mark.parametrize(
    ("url", "has_package", "told"),
    [
        (f"redis://:{SECRET}@127.0.0.1:6379/0", False, "pip install 'redis>=6'"),
        (f"redis://:{SECRET}@127.0.0.1:6379/0?no_option=1", True, "the URL of Redis can't be used"),
    ],
)
def test_one_that_can_not_be_used_stops_the_start_with_one_line(
    tmp_path: Path, url: str, has_package: bool, told: str
) -> None:
    shadow = tmp_path / "packages"
    shadow.mkdir()
    if not has_package:
        (shadow / "redis.py").write_text(WITHOUT_PACKAGE)
    arguments = (ENABLED, "--ServerApp.port=0", f"--WebBudgets.storage={url}")
    with ServerProcess(tmp_path / "server", *arguments, environ={"PYTHONPATH": str(shadow)}) as server:
        assert server.process.wait(60) == 1, server.log
        log = server.log
    (line,) = [line for line in log.splitlines() if "Web Research" in line]
    assert "Web Research can't start: " in line
    assert told in line
    assert "Traceback" not in log
    assert SECRET not in log


@pytest.mark.parametrize(("when", "then"), [("refuse", "nothing is read"), ("local", "each process counts for itself")])
def test_one_that_does_not_answer_is_one_warning_and_holds_nothing_up(tmp_path: Path, when: str, then: str) -> None:
    port, nobody = free_port(), free_port()
    arguments = (
        f"--WebBudgets.storage=redis://:{SECRET}@127.0.0.1:{nobody}/0",
        f"--WebBudgets.when_unavailable={when}",
    )
    with ServerProcess(tmp_path, ENABLED, f"--ServerApp.port={port}", *arguments) as server:
        server.wait_for(lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=60))
        wait_until(lambda: "Web Research: " in server.log)
        log = server.log
    (line,) = [line for line in log.splitlines() if "Web Research: " in line]
    assert f"127.0.0.1:{nobody} can't be reached" in line
    assert f"{then} (WebBudgets.when_unavailable)" in line
    assert SECRET not in log


def test_what_only_the_operator_can_mend_is_logged_once(tmp_path: Path) -> None:
    bundle = tmp_path / "authorities.pem"
    trustme.CA().cert_pem.write_to_path(str(bundle))
    records: list[logging.LogRecord] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    with ThreadServer(tmp_path / "server", arguments=[f"--WebPolicy.ca_bundle={bundle}"]) as server:
        server.app.log.addHandler(Keeping())
        bundle.unlink()
        call: Caller = server.caller()
        streamed = {"Accept": "application/x-ndjson"}
        answers = [call("POST", "webresearch/fetch", {"url": "http://a.example/"}, more) for more in ({}, {}, streamed)]
    assert [answer.status for answer in answers] == [500, 500, 500]
    reasons = {answer.json["message"] for answer in answers}
    told = [record.getMessage() for record in records if record.getMessage().startswith("Web Research: ")]
    assert told == [f"Web Research: {reason}" for reason in reasons]
    assert "ca_bundle" in told[0]
