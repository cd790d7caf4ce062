"""Names of the machine's hosts file: found as absolute names where private networks are allowed, and judged as ever."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch import engine_parts
from jupyter_webresearch.config import Settings, WebPolicy
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net import hosts_file
from jupyter_webresearch.net.hosts_file import HostsFile, hosts_path
from jupyter_webresearch.net.resolver import SystemResolver
from tests.sites import Site

LINES = """\
127.0.0.1 localhost
10.1.2.3\tvm  vm.corp.example # the machine in the cellar
fd00::7 vm
#10.9.9.9 commented
10.1.2.4 UPPER.Example dotted.example.
include other-names
10.1.2.5
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "hosts"
    file.write_text(LINES)
    return file


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("vm", ["10.1.2.3", "fd00::7"]),
        ("vm.corp.example", ["10.1.2.3"]),
        ("upper.example", ["10.1.2.4"]),
        ("dotted.example", ["10.1.2.4"]),
        ("commented", []),
        ("the", []),
        ("other-names", []),
        ("", []),
    ],
)
def test_every_line_counts(path: Path, name: str, addresses: list[str]) -> None:
    assert list(HostsFile(path).addresses(name)) == addresses


def test_it_is_read_again_only_when_it_has_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    real = hosts_file._names

    def names(file: Path) -> dict[str, list[str]]:
        read.append(file)
        return real(file)

    monkeypatch.setattr(hosts_file, "_names", names)
    hosts = HostsFile(path)
    assert list(hosts.addresses("vm")) == list(hosts.addresses("vm")) == ["10.1.2.3", "fd00::7"]
    assert len(read) == 1
    path.write_text("10.1.2.9 vm\n")
    os.utime(path, ns=(1, 1))
    assert list(hosts.addresses("vm")) == ["10.1.2.9"]
    assert len(read) == 2


def test_one_that_is_absent_or_too_large_holds_nothing(tmp_path: Path, path: Path) -> None:
    assert list(HostsFile(tmp_path / "absent").addresses("vm")) == []
    assert list(HostsFile(tmp_path).addresses("vm")) == []
    with path.open("a") as file:
        file.write("0.0.0.0 blocked.example\n" * (hosts_file.LARGEST // 20))
    assert list(HostsFile(path).addresses("vm")) == []


async def test_the_system_is_asked_for_the_other_names_only(path: Path) -> None:
    asked: list[bytes] = []

    def lookup(host: bytes, *_arguments: Any, **_hints: Any) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 0))]

    resolver = SystemResolver(60, lookup=lookup, hosts_file=HostsFile(path))
    assert await resolver.resolve("vm") == ["10.1.2.3", "fd00::7"]
    assert await resolver.resolve("www.example.org") == ["93.184.216.34"]
    assert asked == [b"www.example.org."]


@pytest.mark.parametrize(("name", "hint"), [("nobody", True), ("nobody.example.com", False)])
async def test_a_short_name_that_is_nowhere_is_told_to_be_written_whole(path: Path, name: str, hint: bool) -> None:
    def lookup(*_arguments: Any, **_hints: Any) -> list[tuple[Any, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    with pytest.raises(Failed) as caught:
        await SystemResolver(60, lookup=lookup, hosts_file=HostsFile(path)).resolve(name)
    assert caught.value.message.startswith(f"{name} has no address; is it spelt right?")
    assert ("write it whole, such as nobody.example.com" in caught.value.message) == hint


# ---------------------------------------------------------------------- through the engine


@pytest.fixture
def web() -> Iterator[Site]:
    with Site() as site:
        yield site


def reading(url: str, web: Site, folder: Path, networks: list[str]) -> str:
    """Return the text of a page, or the code of the refusal, by the real resolver and dialler."""
    settings = Settings(policy=WebPolicy(allow_private_networks=networks, allowed_ports=[web.port]))
    engine = Engine(settings, data_folder=folder / "journal", environ={})
    engine.start()
    try:
        return engine.submit(engine.fetch(engine.session("a"), FetchRequest(url=url))).result(60).markdown
    except WebResearchError as error:
        return f"{error.code}: {error.message}"
    finally:
        engine.close()


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "hosts"
    file.write_text("127.0.0.1 vm wiki.example.org\n127.0.0.1 half\n10.255.255.1 half\n")
    assert hosts_path() != file
    monkeypatch.setattr(engine_parts, "hosts_path", lambda: file)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("name", ["vm", "wiki.example.org"])
def test_a_page_of_a_machine_in_the_file_is_read(name: str, web: Site, tmp_path: Path) -> None:
    text = reading(f"http://{name}:{web.port}/plain", web, tmp_path, ["127.0.0.1/32"])
    assert text
    assert [request.path for request in web.seen if request.path == "/plain"] == ["/plain"], text


@pytest.mark.usefixtures("known")
def test_one_address_that_is_not_allowed_refuses_the_name(web: Site, tmp_path: Path) -> None:
    assert reading(f"http://half:{web.port}/", web, tmp_path, ["127.0.0.1/32"]).startswith("blocked_address: ")
    assert reading(f"http://vm:{web.port}/", web, tmp_path, ["192.168.0.0/16"]).startswith("blocked_address: ")
    assert not web.seen


@pytest.mark.usefixtures("known")
def test_without_private_networks_the_file_is_not_looked_at(web: Site, tmp_path: Path) -> None:
    assert reading(f"http://vm:{web.port}/", web, tmp_path, []).startswith("blocked_host: ")
    assert reading(f"http://wiki.example.org:{web.port}/", web, tmp_path, []).startswith("unresolved: ")
    assert not web.seen
