"""What a server tells its kernels of where it listens: never a token, always an address of this machine's own."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_webresearch.kernel.discovery import ServerAddress
from jupyter_webresearch.server.exported_url import exported_environment
from tests.server.running import TOKEN, ThreadServer


def app(**changed: Any) -> SimpleNamespace:
    # local_url and public_url are missing on purpose: both hold the token.
    return SimpleNamespace(**{"ip": "localhost", "port": 8888, "base_url": "/", "sock": "", "certfile": "", **changed})


@pytest.mark.parametrize(
    ("changed", "url"),
    [
        ({}, "http://127.0.0.1:8888/"),
        ({"ip": ""}, "http://127.0.0.1:8888/"),
        ({"ip": "0.0.0.0"}, "http://127.0.0.1:8888/"),
        ({"ip": "::"}, "http://[::1]:8888/"),
        ({"ip": "::1"}, "http://[::1]:8888/"),
        ({"ip": "127.0.0.7"}, "http://127.0.0.7:8888/"),
        ({"ip": "192.0.2.7"}, "http://192.0.2.7:8888/"),
        ({"ip": "name.invalid"}, "http://name.invalid:8888/"),
        ({"base_url": "/user/a%40b/"}, "http://127.0.0.1:8888/user/a%40b/"),
        ({"base_url": "/deep/base"}, "http://127.0.0.1:8888/deep/base/"),
        ({"sock": "/run/a b.sock", "base_url": "/x/"}, "http+unix://%2Frun%2Fa%20b.sock/x/"),
        ({"certfile": "/etc/ssl/cert.pem"}, "https://127.0.0.1:8888/"),
    ],
)
async def test_the_url(changed: dict[str, Any], url: str) -> None:
    variables = await exported_environment(app(**changed))
    assert variables["JUPYTER_WEBRESEARCH_URL"] == url
    address = ServerAddress.parse(url)
    assert address is not None
    assert address.url == url
    assert ("JUPYTER_WEBRESEARCH_CERT" in variables) == bool(changed.get("certfile"))


async def test_relative_paths_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert (await exported_environment(app(certfile="c.pem")))["JUPYTER_WEBRESEARCH_CERT"] == str(tmp_path / "c.pem")
    url = (await exported_environment(app(sock="s.sock")))["JUPYTER_WEBRESEARCH_URL"]
    address = ServerAddress.parse(url)
    assert address is not None
    assert address.socket == str(tmp_path / "s.sock")


def test_it_is_exported_from_start_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUPYTER_WEBRESEARCH_URL", raising=False)
    with ThreadServer(tmp_path) as server:
        url = os.environ["JUPYTER_WEBRESEARCH_URL"]
        assert url == f"http://127.0.0.1:{server.app.port}/user/a%40b/"
        assert not any(TOKEN in value for name, value in os.environ.items() if "WEBRESEARCH" in name)
        engine = server.on_loop(server.extension.engine)
        assert engine.submit(nothing()).result(30) is None
    assert "JUPYTER_WEBRESEARCH_URL" not in os.environ
    with pytest.raises(RuntimeError, match="closed"):
        engine.submit(nothing())


async def nothing() -> None:
    """What an engine that lives can do."""
