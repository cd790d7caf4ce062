"""Budgets that several processes share: two servers through a real Redis, kernels without a server through one file."""

from __future__ import annotations

import http.client
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.server.running import Caller, ServerProcess, free_port
from tests.sites import Site

LIMIT = 20
EACH = 20


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
