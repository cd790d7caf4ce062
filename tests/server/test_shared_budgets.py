"""Budgets that several processes share: two servers through a real Redis, kernels without a server through one file."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_webresearch.config import WebBudgets, WebPolicy, environment_name
from tests.server.running import Caller, ServerProcess, free_port
from tests.sites import Site

LIMIT = 20
EACH = 20

SCRIPT = """
import json, sys
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.kernel.client import connect
from jupyter_webresearch.models import FetchRequest

client, codes = connect(), []
client.policy()
print(type(client.client).__name__, flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    try:
        client.fetch(FetchRequest(f"{sys.argv[1]}?{number}", "HEAD"))
        codes.append("read")
    except WebResearchError as error:
        codes.append(f"{error.code} {error.setting}")
print(json.dumps(codes))
"""


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert any("Ready to accept connections" in line for line in process.stdout)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.communicate()


def test_two_servers_let_exactly_the_limit_through(redis_url: str, tmp_path: Path) -> None:
    with Site() as web:
        settings = [
            f"--WebBudgets.storage={redis_url}",
            f"--WebBudgets.server_per_minute={LIMIT}",
            "--WebBudgets.site_per_minute=0",
            "--WebBudgets.kernel_per_minute=0",
            "--WebPolicy.allow_private_networks=127.0.0.1/32",
            f"--WebPolicy.allowed_ports={web.port}",
        ]
        ports = (free_port(), free_port())
        servers = [
            ServerProcess(
                tmp_path / str(port), f"--ServerApp.port={port}", "--IdentityProvider.token=one-token", *settings
            )
            for port in ports
        ]
        with servers[0], servers[1], ThreadPoolExecutor(2 * EACH) as threads:
            callers = []
            for server, port in zip(servers, ports, strict=True):

                def connect(port: int = port) -> http.client.HTTPConnection:
                    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)

                server.wait_for(connect)
                callers.append(Caller(connect, "/", {"Authorization": "token one-token"}))
            asks = [(call, n) for n in range(EACH) for call in callers]
            answers = list(
                threads.map(
                    lambda ask: ask[0](
                        "POST", "webresearch/fetch", {"url": web.url(f"/plain?{ask[1]}"), "fresh": True}
                    ),
                    asks,
                )
            )
    refused = [answer for answer in answers if answer.status != 200]
    assert len(answers) - len(refused) == LIMIT, servers[0].log + servers[1].log
    for answer in refused:
        assert answer.status == 429
        assert answer.json["code"] == "over_budget"
        assert answer.json["setting"] == "WebBudgets.server_per_minute"
        assert str(LIMIT) in answer.json["message"]
        assert 0 < answer.json["retry_after"] <= 60
    assert sum(request.path == "/plain" for request in web.seen) == LIMIT


def test_processes_without_a_server_let_exactly_the_limit_through(tmp_path: Path) -> None:
    with Site() as web:
        settings = {
            environment_name(WebBudgets, "server_per_minute"): str(LIMIT),
            environment_name(WebPolicy, "allow_private_networks"): "127.0.0.1/32",
            environment_name(WebPolicy, "allowed_ports"): str(web.port),
            "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        }
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", SCRIPT, web.url("/plain"), str(EACH)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **settings},
            )
            for _ in range(3)
        ]
        try:
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "LocalClient\n"
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            ends = [code for process in processes for code in json.loads(process.communicate(timeout=60)[0])]
        finally:
            for process in processes:
                process.kill()
                process.communicate()
    assert sorted(ends) == ["over_budget WebBudgets.server_per_minute"] * (3 * EACH - LIMIT) + ["read"] * LIMIT
    assert len(web.seen) == LIMIT
