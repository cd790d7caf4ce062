"""Every request to the web leaves through net/transport.py: no other module can open a connection or ask DNS.

Read from the syntax trees of the package, so that a new module is covered the day it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import jupyter_webresearch

PACKAGE = Path(jupyter_webresearch.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

# Modules that exist to make requests, with all below them.
CLIENTS = """
    aiohttp ddgs ftplib httplib2 imaplib niquests nntplib playwright poplib primp pycurl requests selenium smtplib
    telnetlib
    tornado.httpclient tornado.simple_httpclient tornado.tcpclient trafilatura.downloads trafilatura.feeds
    trafilatura.sitemaps trafilatura.spider urllib.request urllib3 websocket websockets xmlrpc.client
"""
# Names by which libraries that are used for other things open connections, resolve names or download.
CALLS = """
    create_connection create_datagram_endpoint sock_connect open_connection open_unix_connection create_unix_connection
    connect_tcp connect_udp connect_unix create_connected_udp_socket websocket_connect getaddrinfo gethostbyname
    gethostbyname_ex gethostbyaddr getnameinfo getfqdn urlopen urlretrieve fetch_url fetch_response
"""
# These are used for their types and constants too; here are the parts of them that connect.
HTTPX = "AsyncClient Client AsyncHTTPTransport HTTPTransport get post put patch delete head options request stream"
HTTPCORE = """
    AsyncConnectionPool ConnectionPool AsyncHTTPConnection HTTPConnection AsyncHTTP11Connection HTTP11Connection
    AsyncHTTP2Connection HTTP2Connection AsyncHTTPProxy HTTPProxy AsyncSOCKSProxy SOCKSProxy AnyIOBackend TrioBackend
    SyncBackend request stream
"""
CONNECTING = {
    "httpx": HTTPX,
    "httpcore": HTTPCORE,
    "http.client": "HTTPConnection HTTPSConnection",
    "socket": "socket SocketType fromfd",
    "_socket": "socket SocketType fromfd",
}

# Who may do what, and why.
ALLOWED = {
    "net/dialler.py": {"httpcore.AnyIOBackend", "connect_tcp"},  # the way to a judged address
    "net/resolver.py": {"getaddrinfo"},  # the question to DNS, whose answers are judged
    "net/source_address.py": {"socket.socket"},  # bound once at the start, never connected: has this machine it?
    "net/transport.py": {"httpcore.AsyncHTTP11Connection"},  # HTTP over a connection that was dialled and checked
    "socket_owner.py": {"socket.socket"},  # the type of a connection that others made: whose process is at its end?
    # The kernel's connection to its own Jupyter server, on loopback or a Unix socket, never to the web.
    "kernel/connection.py": {"http.client.HTTPConnection", "http.client.HTTPSConnection", "socket.socket"},
    # A provider that is a package, with requests of its own: there where it is installed, in a process of its own.
    "search/ddgs_worker.py": {"ddgs"},
    # The address that the server itself binds, in order to tell its kernels.
    "server/exported_url.py": {"getaddrinfo"},
}


def findings(source: str) -> Iterator[str]:
    """Yield what in a module could reach the network."""
    tree = ast.parse(source)
    imported = dict(_imports(tree))
    for full in imported.values():
        yield from _reaching(full)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield from _reaching(_dotted(node, imported))
        elif isinstance(node, ast.Call):
            yield from _by_string(node, imported)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each imported name with what it stands for, e.g. ``h`` and ``http.client``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name
                if not alias.asname:
                    first = alias.name.partition(".")[0]
                    yield first, first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _reaching(full: str) -> Iterator[str]:
    owner, _, name = full.rpartition(".")
    if name in CONNECTING.get(owner, "").split():
        yield full
    if name in CALLS.split():
        yield name
    for client in CLIENTS.split():
        if full == client or full.startswith(client + "."):
            yield client


def _by_string(call: ast.Call, imported: dict[str, str]) -> Iterator[str]:
    """Yield what an import or attribute named by a string reaches; one that can't be read is a finding itself."""
    builtin = call.func.id if isinstance(call.func, ast.Name) and call.func.id not in imported else ""
    if builtin == "__import__" or _dotted(call.func, imported) == "importlib.import_module":
        target = call.args[0]
        if isinstance(target, ast.Constant):
            yield from _reaching(str(target.value))
        elif not ast.unparse(target).startswith(("f'{__name__}.", 'f"{__name__}.')):
            yield "an import that can't be read"
    elif builtin == "getattr":
        owner, attribute = _dotted(call.args[0], imported), call.args[1]
        if isinstance(attribute, ast.Constant):
            yield from _reaching(f"{owner}.{attribute.value}")
        elif owner in CONNECTING or owner in ("asyncio", "anyio"):
            yield "an attribute that can't be read"


def _dotted(node: ast.AST, imported: dict[str, str]) -> str:
    """Return ``a.b.c`` with its first name as it was imported, ``?`` for what was not."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, "?")
    return f"{_dotted(node.value, imported)}.{node.attr}" if isinstance(node, ast.Attribute) else "?"


@pytest.mark.parametrize("module", MODULES)
def test_no_other_module_reaches_the_network(module: str) -> None:
    found = set(findings((PACKAGE / module).read_text("utf-8")))
    assert found <= ALLOWED.get(module, set())


@pytest.mark.parametrize("module", ALLOWED)
def test_every_exception_is_needed(module: str) -> None:
    assert set(findings((PACKAGE / module).read_text("utf-8"))) == ALLOWED[module]


def test_there_is_one_transport_and_the_engine_builds_it() -> None:
    users = [
        module
        for module in MODULES
        if "GuardedTransport(" in (PACKAGE / module).read_text("utf-8") and module != "net/transport.py"
    ]
    assert users == ["engine_parts.py"]


WAYS_OUT = """
    import requests
    import http.client; http.client.HTTPConnection('a')
    import http.client as h; h.HTTPSConnection('a')
    from http import client; client.HTTPConnection('a')
    from http.client import HTTPConnection
    from urllib import request
    from urllib.request import urlopen
    import urllib.request
    import httpx; httpx.Client()
    import httpx as x; x.AsyncClient()
    from httpx import AsyncClient
    import httpx; httpx.get('https://example.com')
    import httpcore; httpcore.AsyncConnectionPool()
    from httpcore import AnyIOBackend as B
    import socket; socket.socket()
    from socket import socket as s
    import socket; socket.create_connection(('a', 1))
    import socket; socket.getaddrinfo('a', 1)
    import asyncio; asyncio.open_connection('a', 1)
    from asyncio import open_connection
    import anyio; anyio.connect_tcp('a', 1)
    loop.create_connection(P, 'a', 1)
    asyncio.get_running_loop().sock_connect(s, a)
    import trafilatura; trafilatura.fetch_url('a')
    from trafilatura.downloads import fetch_response
    import importlib; importlib.import_module('requests')
    import importlib; importlib.import_module(name)
    __import__('urllib3')
    import socket; getattr(socket, 'socket')()
    import socket; getattr(socket, name)()
    from tornado import httpclient
    import _socket; _socket.socket()
    from playwright.async_api import async_playwright
"""


@pytest.mark.parametrize("line", [line.strip() for line in WAYS_OUT.strip().splitlines()])
def test_ways_out_are_found(line: str) -> None:
    assert list(findings(line))


HARMLESS = """
    import socket; socket.AF_INET
    import httpx; httpx.Request('GET', 'u')
    response.headers.get('a')
    import http.client; http.client.responses
    requests = []; requests.append(1)
    from importlib import import_module; import_module(f"{__name__}.{home}")
"""


@pytest.mark.parametrize("line", [line.strip() for line in HARMLESS.strip().splitlines()])
def test_harmless_uses_are_not(line: str) -> None:
    assert not list(findings(line))
