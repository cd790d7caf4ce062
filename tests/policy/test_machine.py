"""What this machine knows of itself."""

from __future__ import annotations

import json
import os
from ipaddress import ip_address
from pathlib import Path

import pytest

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.machine import Recent, exported_ports, interface_addresses, jupyter_ports

EXPORTED = ("JUPYTER_WEBRESEARCH_URL", "JUPYTERHUB_SERVICE_URL", "JUPYTERHUB_API_URL")


def test_interfaces_hold_loopback() -> None:
    assert ip_address("127.0.0.1") in interface_addresses()


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    for name in EXPORTED:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_ports_of_running_servers(runtime: Path) -> None:
    assert jupyter_ports() == frozenset()
    (runtime / "jpserver-1.json").write_text(json.dumps({"pid": os.getpid(), "port": 8443}))
    (runtime / "jpserver-2.json").write_text("{")  # just being written
    (runtime / "jpserver-3.json").write_text(json.dumps({"pid": os.getpid(), "sock": "/run/x", "port": 0}))
    (runtime / "jpserver-4.json").write_text("[]")
    assert jupyter_ports() == {8443}


@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.parametrize(
    ("url", "ports"),
    [
        ("", set()),
        ("http://127.0.0.1:9001/base/", {9001}),
        ("http://hub:8081/hub/api", {8081}),
        ("https://127.0.0.1/user/a%40b/", {443}),
        ("http://127.0.0.1", {80}),
        ("http+unix://%2Frun%2Fsock", set()),
        ("http://127.0.0.1:port/", set()),
    ],
)
def test_ports_that_the_environment_names(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, name: str, url: str, ports: set[int]
) -> None:
    monkeypatch.setenv(name, url)
    assert exported_ports() == ports


@pytest.mark.parametrize("name", EXPORTED)
def test_the_guard_refuses_them_whatever_it_was_given(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:8443/")
    guard = Guard(WebPolicy(allow_private_networks=["127.0.0.0/8"]), own_ports=frozenset)
    assert guard.check_url("http://127.0.0.1:8080/")
    with pytest.raises(Refused, match="Jupyter's own"):
        guard.check_url("http://127.0.0.1:8443/")


def test_the_guard_asks_by_default(runtime: Path) -> None:
    (runtime / "jpserver-1.json").write_text(json.dumps({"pid": os.getpid(), "port": 8443}))
    guard = Guard(WebPolicy(allow_private_networks=["127.0.0.0/8"]))
    assert guard.check_url("http://127.0.0.1:8080/")
    with pytest.raises(Refused, match="Jupyter's own"):
        guard.check_url("http://127.0.0.1:8443/")


def test_a_reading_serves_for_its_seconds() -> None:
    values = iter([1, 2])
    kept = Recent(lambda: next(values), seconds=60)
    assert [kept(), kept()] == [1, 1]
    fresh = Recent(lambda: next(values), seconds=-1)
    assert fresh() == 2
