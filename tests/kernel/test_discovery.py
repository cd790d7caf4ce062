"""Where a kernel looks for its server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.kernel.discovery import ServerAddress, candidates
from jupyter_webresearch.policy.machine import jupyter_ports
from jupyter_webresearch.running_servers import running_servers


def write_server(folder: Path, pid: int, age: float = 0, **changed: Any) -> Path:
    info = {
        "url": "http://localhost:8888/", "hostname": "localhost", "port": 8888, "sock": "", "secure": False,
        "base_url": "/", "token": "the-token", "pid": pid, **changed,
    }  # fmt: skip
    file = folder / f"jpserver-{pid}-{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps(info))
    os.utime(file, (1_700_000_000 - age, 1_700_000_000 - age))
    return file


def urls(environ: dict[str, str], folder: Path) -> list[str]:
    return [address.url for address in candidates(environ, folder)]


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("http://127.0.0.1:8888/", "http://127.0.0.1:8888/"),
        ("http://127.0.0.1:8888", "http://127.0.0.1:8888/"),
        ("http://0.0.0.0:8888/user/a%40b/", "http://127.0.0.1:8888/user/a%40b/"),
        ("http://[::]:8888/x", "http://[::1]:8888/x/"),
        ("http://:8888/", "http://127.0.0.1:8888/"),
        ("https://127.0.0.1:8888/", "https://127.0.0.1:8888/"),
        ("http+unix://%2Ftmp%2Fa%20b.sock/base/", "http+unix://%2Ftmp%2Fa%20b.sock/base/"),
        ("http://10.1.2.3/", "http://10.1.2.3:80/"),
        ("http://user:password@127.0.0.1:8888/", None),
        ("http://127.0.0.1:8888/?token=x", None),
        ("http://127.0.0.1:8888/#x", None),
        ("http://127.0.0.1:88888888/", None),
        ("http://127.0.0.1:port/", None),
        ("http://127.0.0.1:8888/a b/", None),
        ("http://127.0.0.1:8888/ü/", None),
        ("ftp://127.0.0.1/", None),
        ("http+unix://relative/", None),
        ("", None),
    ],
)
def test_reading_an_address(url: str, read: str | None) -> None:
    address = ServerAddress.parse(url)
    assert (address and address.url) == read
    if address is not None:
        assert ServerAddress.parse(address.url) == address


def test_the_order(tmp_path: Path) -> None:
    write_server(tmp_path, os.getpid(), age=100, port=1001)
    write_server(tmp_path, os.getpid(), age=0, port=1002, base_url="/b/")
    environ = {
        "JUPYTER_WEBRESEARCH_URL": "http://127.0.0.1:1000/",
        "JUPYTERHUB_SERVICE_URL": "http://0.0.0.0:8888/user/a%40b/",
    }
    assert urls(environ, tmp_path) == [
        "http://127.0.0.1:1000/",
        "http://127.0.0.1:8888/user/a%40b/",
        "http://localhost:1002/b/",
        "http://localhost:1001/",
    ]


def test_each_only_once(tmp_path: Path) -> None:
    write_server(tmp_path, os.getpid(), hostname="127.0.0.1")
    environ = {"JUPYTER_WEBRESEARCH_URL": "http://127.0.0.1:8888/", "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:8888/"}
    assert urls(environ, tmp_path) == ["http://127.0.0.1:8888/"]


@pytest.mark.parametrize(
    ("service", "prefix", "url"),
    [
        ("http://127.0.0.1:8888", "/user/a%40b/", "http://127.0.0.1:8888/user/a%40b/"),
        ("http://127.0.0.1:8888/", "/user/a%40b/", "http://127.0.0.1:8888/user/a%40b/"),
        ("http://127.0.0.1:8888/user/a%40b/", "/user/a%40b/", "http://127.0.0.1:8888/user/a%40b/"),
        ("http://:8888/user/x/", "", "http://127.0.0.1:8888/user/x/"),
    ],
)
def test_a_hubs_service_url(tmp_path: Path, service: str, prefix: str, url: str) -> None:
    environ = {"JUPYTERHUB_SERVICE_URL": service, "JUPYTERHUB_SERVICE_PREFIX": prefix}
    assert urls(environ, tmp_path) == [url]


def test_files_that_are_passed_over(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write_server(tmp_path, gone.pid)
    write_server(tmp_path, 0)
    write_server(tmp_path, os.getpid()).write_text('{"pid": "1", "port": 1}')
    (tmp_path / "jpserver-1.json").write_text("{")
    (tmp_path / "jpserver-2.json").write_text("[]")
    (tmp_path / "jpserver-3.json").write_text(json.dumps({"pid": os.getpid(), "pad": "x" * 100_000}))
    (tmp_path / "jpserver-4.json").symlink_to(write_server(tmp_path, os.getpid()).rename(tmp_path / "other.json"))
    (tmp_path / "jpserver-5.json").mkdir()
    (tmp_path / "jpserver-6.json").write_text("[" * 60_000)
    (tmp_path / "jpserver-7.json").write_bytes(b'{"pid": \xff}')
    os.mkfifo(tmp_path / "jpserver-8.json")
    write_server(tmp_path, 2**70)
    write_server(tmp_path, os.getpid(), port="8888").rename(tmp_path / "nbserver-1.json")
    assert running_servers(tmp_path) == []
    assert urls({}, tmp_path) == []
    assert running_servers(tmp_path / "missing") == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_files_of_another_user_are_passed_over(tmp_path: Path) -> None:
    os.chown(write_server(tmp_path, os.getpid()), 12345, 12345)
    assert running_servers(tmp_path) == []


@pytest.mark.parametrize("port", [0, -1, 65536, 2**70, "8888", None, 1.5, [8888]])
def test_what_is_no_port(tmp_path: Path, port: Any) -> None:
    write_server(tmp_path, os.getpid(), port=port)
    assert urls({}, tmp_path) == []
    assert jupyter_ports(tmp_path) == frozenset()


def test_tokens_are_not_kept(tmp_path: Path) -> None:
    write_server(tmp_path, os.getpid())
    assert "the-token" not in str(running_servers(tmp_path))
    assert "the-token" not in str(list(candidates({}, tmp_path)))


def test_sockets_and_ports(tmp_path: Path) -> None:
    write_server(tmp_path, os.getpid(), sock="/tmp/s.sock", port=0, base_url="/b/")
    write_server(tmp_path, os.getpid(), port=9999)
    assert "http+unix://%2Ftmp%2Fs.sock/b/" in urls({}, tmp_path)
    assert 9999 in jupyter_ports(tmp_path)
