"""Real kernels of a real server: who they are to it, what they share with nobody, and how they end."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_webresearch.kernel.proof import SERVER_HEADER, KernelIdentity, derive_key
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.server import handlers
from jupyter_webresearch.server.request_body import read_fetch
from tests.server.running import (
    TOKEN,
    Answer,
    Caller,
    Kernel,
    ThreadServer,
    start_kernel,
    start_session,
    wait_until,
)
from tests.sites import Site

CONNECT = """
import jupyter_webresearch as web
from jupyter_webresearch.kernel.client import connect
from jupyter_webresearch.models import FetchRequest
"""
ARTICLE = "http://www.example.org/article"


@pytest.fixture(scope="module")
def raw(server: ThreadServer) -> Iterator[Kernel]:
    """A kernel started without a session."""
    kernel = start_kernel(server.caller(), server.folders.runtime)
    kernel.run(CONNECT)
    yield kernel
    kernel.close()


@pytest.fixture(scope="module")
def session(server: ThreadServer) -> Iterator[Kernel]:
    """A kernel started for a notebook."""
    kernel = start_session(server.caller(), server.folders.runtime, "notebook.ipynb")
    kernel.run(CONNECT)
    yield kernel
    kernel.close()


@pytest.fixture(params=["raw", "session"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return request.getfixturevalue(request.param)


def identity(kernel: Kernel) -> KernelIdentity:
    return KernelIdentity(kernel.id, derive_key(kernel.key, kernel.id))


def signed(
    server: ThreadServer,
    who: KernelIdentity,
    method: str = "POST",
    route: str = "hello",
    body: bytes = b"",
    **changed: object,
) -> tuple[Answer, str]:
    """Call with a proof, possibly of something else; return the answer and the header."""
    target = f"{server.app.base_url}webresearch/{route}"
    proof = who.prove(
        method,
        str(changed.get("target", target)),
        bytes(changed.get("signed_body", body)),
        time.time() + float(changed.get("off", 0)),
    )  # type: ignore[arg-type]
    header = str(changed.get("header", proof.header))
    return server.caller(token=None)(method, f"webresearch/{route}", body, {"Authorization": header}), header


# ------------------------------------------------------------------ who is who


def test_a_kernel_finds_its_server_and_is_known(server: ThreadServer, kernel: Kernel) -> None:
    printed = kernel.run("print(type(connect().client).__name__, connect().client.hello()['session'])")
    assert printed.split() == ["ServerClient", f"kernel:{kernel.id}"]


def test_a_kernel_imports_nothing_heavy(kernel: Kernel) -> None:
    kernel.run(f"web.fetch({ARTICLE!r}); web.check_url({ARTICLE!r})")
    heavy = ("jupyter_server", "trafilatura", "playwright", "httpx", "httpcore", "lxml", "jupyter_webresearch.engine")
    assert kernel.run(f"import sys; print([m for m in {heavy!r} if m in sys.modules])").strip() == "[]"


def test_a_kernel_reads_on_through_its_server(kernel: Kernel, web: Site) -> None:
    before = len(web.seen)
    code = f"""
page = web.fetch("http://www.example.org/article?words=3000&for={kernel.id}", max_bytes=2000)
rest = page.whole()
print(page.truncated, rest.truncated, len(rest.markdown) == page.window.total)
print(page.next().window.offset == page.window.end)
"""
    assert kernel.run(code).split() == ["True", "False", "True", "True"]
    assert len(web.seen) == before + 1


def test_phases_arrive_in_the_kernel(kernel: Kernel) -> None:
    url = f"{ARTICLE}?phases={kernel.id}"
    code = f"seen = []; connect().fetch(FetchRequest({url!r}), seen.append); print(*seen)"
    assert kernel.run(code).split()[-2:] == ["receiving", "extracting"]


def test_errors_arrive_in_the_kernel(kernel: Kernel) -> None:
    code = """
for url in ("http://10.0.0.1/", "http://www.example.org/status?code=404", "nonsense://"):
    try:
        web.fetch(url)
    except web.WebResearchError as error:
        print(type(error).__name__, error.code, error.page.status if error.page else None)
"""
    assert kernel.run(code).splitlines()[:2] == ["Refused blocked_address None", "Failed http_status 404"]


def test_a_batch_from_a_kernel(kernel: Kernel) -> None:
    code = f"""
events = []
requests = [FetchRequest({ARTICLE!r} + "?1"), FetchRequest("http://10.0.0.1/"), FetchRequest({ARTICLE!r} + "?2")]
print(*[getattr(o, "code", "page") for o in connect().fetch_many(requests, lambda i, p: events.append(i))])
print(sorted(set(events)) in ([0, 2], [0, 1, 2]))
"""
    assert kernel.run(code).split() == ["page", "blocked_address", "page", "True"]


def test_more_octets_than_are_kept(kernel: Kernel) -> None:
    code = """
page = web.extract(b"word " * 2_500_000, url="https://example.org/", content_type="text/plain")
print(page.truncated_body, page.body_bytes, page.announced_bytes)
"""
    assert kernel.run(code).split() == ["True", "10485760", "12500000"]


def test_saving_from_a_kernel(server: ThreadServer, kernel: Kernel) -> None:
    code = f"""
request = FetchRequest("http://www.example.org/attachment?name=../../data.bin&size=700000")
page = connect().save(request, {str(server.folders.root)!r}, "{kernel.id}.bin")
again = connect().save(request, {str(server.folders.root)!r}, force=True)
print(page.saved.path, page.saved.bytes, again.saved.path)
"""
    assert kernel.run(code).split() == [f"{kernel.id}.bin", "700000", "data.bin"]
    for name in (f"{kernel.id}.bin", "data.bin"):
        assert (server.folders.root / name).stat().st_size == 700_000


def test_awaiting_and_cancelling(kernel: Kernel, web: Site, tmp_path: Path) -> None:
    web_url = f"http://www.example.org/hang?awaited={kernel.id}"
    arrived = tmp_path / "arrived"
    code = f"""
import asyncio, pathlib
waiting = asyncio.ensure_future(web.afetch({web_url!r}))
while not pathlib.Path({str(arrived)!r}).exists():
    await asyncio.sleep(0.01)
waiting.cancel()
try:
    await waiting
except asyncio.CancelledError:
    print("ended")
"""
    running = kernel.client.execute(code)
    wait_until(lambda: any(f"awaited={kernel.id}" in target for target in web.paths()))
    arrived.touch()
    assert kernel.finish(running).strip() == "ended"


# ------------------------------------------------------------------ proofs over HTTP


def test_a_proof_is_answered(server: ThreadServer, kernel: Kernel) -> None:
    who = identity(kernel)
    answer, _ = signed(server, who)
    assert answer.status == 200
    assert answer.json["session"] == f"kernel:{kernel.id}"
    assert len(answer.headers[SERVER_HEADER.lower()]) == 64


def test_a_kernel_is_asked_for_no_xsrf_token(server: ThreadServer, kernel: Kernel) -> None:
    body = json.dumps({"urls": ["https://example.org/"]}).encode()
    assert signed(server, identity(kernel), route="check-url", body=body)[0].status == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"off": -61},
        {"off": 600},
        {"signed_body": b"other"},
        {"target": "/other"},
        {"header": "JupyterKernel"},
        {"header": "JupyterKernel a:1:b:c"},
    ],
    ids=["late", "early", "body", "target", "missing", "malformed"],
)
def test_a_bad_proof_is_no_proof(server: ThreadServer, raw: Kernel, changed: dict[str, object]) -> None:
    answer, _ = signed(server, identity(raw), **changed)  # type: ignore[arg-type]
    assert (answer.status, answer.json["code"]) == (403, "unauthorized")
    assert SERVER_HEADER.lower() not in answer.headers


def test_a_bad_proof_is_not_mended_by_a_token(server: ThreadServer, raw: Kernel) -> None:
    by_cookie = server.caller()
    by_cookie("GET", "api/status")
    answer = by_cookie(
        "GET", "webresearch/nowhere", headers={"Authorization": f"JupyterKernel {raw.id}:1:{'n' * 16}:{'0' * 64}"}
    )
    assert answer.status == 403


def test_a_proof_is_good_once(server: ThreadServer, raw: Kernel) -> None:
    who = identity(raw)
    first, header = signed(server, who)
    again, _ = signed(server, who, header=header)
    assert (first.status, again.status) == (200, 403)


def with_octets(server: ThreadServer, line: str, authorizations: list[bytes], body: bytes = b"") -> int:
    """Send a request as these octets, which no client would make; return the status."""
    head = [line.encode(), b"Host: 127.0.0.1", b"Connection: close", b"Content-Length: %d" % len(body)]
    head += [b"Authorization: " + authorization for authorization in authorizations]
    with socket.create_connection(("127.0.0.1", server.app.port), timeout=20) as connection:
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize(
    ("signed_target", "sent_target", "status"),
    [
        ("{base}extract?url=http://e.org/&content_type=a/b", "{base}extract?url=http://e.org/&content_type=a/b", 415),
        ("{base}extract?url=http://e.org/&content_type=a/b", "{base}extract?content_type=a/b&url=http://e.org/", 403),
        ("{base}extract?url=https://e.org/", "{base}extract?url=https%3A//e.org/", 403),
        ("{base}extract?url=https://e.org/", "{base}extract?url=https://e.org/&", 403),
        ("{base}hello", "{base}hello?", 403),
        ("{base}hello", "http://127.0.0.1{base}hello", 403),
        ("{lower}hello", "{base}hello", 403),
        ("{base}hello", "{lower}hello", 403),
    ],
)  # fmt: skip
def test_the_target_is_signed_as_it_is_sent(
    server: ThreadServer, raw: Kernel, signed_target: str, sent_target: str, status: int
) -> None:
    base = f"{server.app.base_url}webresearch/"
    names = {"base": base, "lower": base.replace("%40", "@").replace("/user/", "/User/")}
    proof = identity(raw).prove("POST", signed_target.format(**names), b"x", time.time())
    line = f"POST {sent_target.format(**names)} HTTP/1.1"
    assert with_octets(server, line, [proof.header.encode()], b"x") == status


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_a_proof_is_for_one_verb(server: ThreadServer, raw: Kernel, method: str) -> None:
    target = f"{server.app.base_url}webresearch/hello"
    for signed_method in ("POST", method):
        proof = identity(raw).prove(signed_method, target, b"", time.time())
        assert with_octets(server, f"{method} {target} HTTP/1.1", [proof.header.encode()]) == 403


@pytest.mark.parametrize(
    "authorizations",
    [
        [b"{proof}", b"token {token}"],
        [b"{proof}", b"{proof}"],
        [b"JupyterKernel\t{fields}"],
        [b"jupyterkernel {fields}"],
        [b"JupyterKernel \xff\xfe:1:2:3"],
        [b"JupyterKernel {fields}\xa0"],
        [b"JupyterKernel {fields},"],
        [b"JupyterKernel " + b"a" * 60_000],
        ["JupyterKernel ｋernel:1:2:3".encode()],
    ],
    ids=range(9),
)
def test_an_odd_header_is_no_proof(server: ThreadServer, raw: Kernel, authorizations: list[bytes]) -> None:
    target = f"{server.app.base_url}webresearch/hello"
    proof = identity(raw).prove("POST", target, b"", time.time()).header.encode()
    known = {b"{proof}": proof, b"{fields}": proof.split(b" ", 1)[1], b"{token}": TOKEN.encode()}
    for name, value in known.items():
        authorizations = [authorization.replace(name, value) for authorization in authorizations]
    assert with_octets(server, f"POST {target} HTTP/1.1", authorizations) == 403


def test_a_kernel_can_not_be_another(server: ThreadServer, raw: Kernel, session: Kernel) -> None:
    answer, _ = signed(server, KernelIdentity(session.id, derive_key(raw.key, session.id)))
    assert answer.status == 403


@pytest.mark.parametrize("path", ["api/contents", "api/kernels", "api/me", "tree"])
def test_the_proof_opens_nothing_else(server: ThreadServer, raw: Kernel, path: str) -> None:
    who = identity(raw)
    target = f"{server.app.base_url}{path}"
    header = who.prove("GET", target, b"", time.time()).header
    answer = server.caller(token=None)("GET", path, headers={"Authorization": header})
    assert answer.status in (302, 403, 404)
    if answer.status == 302:
        assert "login" in answer.headers["location"]


# ------------------------------------------------------------------ apart


def test_kernels_share_nothing(server: ThreadServer, raw: Kernel, session: Kernel, web: Site) -> None:
    url = f"{ARTICLE}?apart"
    before = len(web.seen)
    read = f"page = web.fetch({url!r}); print(page.cached_seconds is not None, page.record)"
    first, record = raw.run(read).split()
    again, _ = raw.run(read).split()
    other, _ = session.run(read).split()
    assert (first, again, other) == ("False", "True", "False")
    assert len(web.seen) == before + 2
    code = f"""
try:
    print(connect().fetch(FetchRequest({url!r}, record={record!r})))
except web.WebResearchError as error:
    print(error.code)
"""
    assert session.run(code).strip() == "not_found"

    body = json.dumps({"url": "http://www.example.org/attachment", "save": True}).encode()
    key = signed(server, identity(raw), route="fetch", body=body)[0].json["saved"]["key"]
    assert signed(server, identity(session), "GET", f"saved/{key}")[0].status == 404
    assert server.caller()("GET", f"webresearch/saved/{key}").status == 404
    assert len(signed(server, identity(raw), "GET", f"saved/{key}")[0].body) == 1000


def test_a_kernel_in_a_kernel_works_by_itself(raw: Kernel) -> None:
    code = """
import nbformat, nbclient, os
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(
    "import os; from jupyter_webresearch.kernel.client import connect\\n"
    "print(type(connect().client).__name__, 'JUPYTER_WEBRESEARCH_URL' in os.environ)")])
client = nbclient.NotebookClient(notebook)
await client.async_execute()
print(notebook.cells[0].outputs[0].text)
"""
    assert raw.run(code).split() == ["LocalClient", "True"]


# ------------------------------------------------------------------ interrupted, restarted, ended


def test_an_interrupt_cancels(server: ThreadServer, raw: Kernel, web: Site, call: Caller) -> None:
    engine = server.on_loop(server.extension.engine)
    session = engine.session(f"kernel:{raw.id}")
    running = raw.client.execute(
        "try:\n    web.fetch('http://www.example.org/hang?interrupted')\nexcept KeyboardInterrupt: print('stopped')"
    )
    wait_until(lambda: any("interrupted" in target for target in web.paths()))
    assert len(session._tasks) == 1
    assert call("POST", f"api/kernels/{raw.id}/interrupt").status == 204
    assert raw.finish(running).strip() == "stopped"
    wait_until(lambda: not session._tasks)
    assert raw.run("print(connect().client.hello()['protocol'])").strip() == "1"


def test_a_restart_keeps_the_session(server: ThreadServer, session: Kernel, call: Caller, web: Site) -> None:
    url = f"{ARTICLE}?restart"
    session.run(f"web.fetch({url!r})")
    assert call("POST", f"api/kernels/{session.id}/restart", {}).status == 200
    session.client.wait_for_ready(timeout=60)
    session.run(CONNECT)
    before = len(web.seen)
    assert session.run(f"print(web.fetch({url!r}).cached_seconds is not None)").strip() == "True"
    assert len(web.seen) == before
    server.on_loop(server.extension.life.sweep)
    assert f"kernel:{session.id}" in server.on_loop(server.extension.engine)._sessions


def test_a_shutdown_ends_the_session(server: ThreadServer, call: Caller) -> None:
    kernel = start_kernel(call, server.folders.runtime)
    kernel.run(CONNECT + f"web.fetch({ARTICLE!r})")
    engine = server.on_loop(server.extension.engine)
    assert f"kernel:{kernel.id}" in engine._sessions
    kernel.close()
    assert call("DELETE", f"api/kernels/{kernel.id}").status == 204
    wait_until(lambda: f"kernel:{kernel.id}" not in engine._sessions)
    answer, _ = signed(server, identity(kernel))
    assert (answer.status, answer.json["message"]) == (403, "this server has no such kernel")


def test_a_kernel_that_vanished_is_swept(server: ThreadServer) -> None:
    engine = server.on_loop(server.extension.engine)
    engine.session("kernel:vanished")
    server.on_loop(lambda: server.extension.life.saw_kernel("vanished"))
    server.on_loop(server.extension.life.sweep)
    assert "kernel:vanished" not in engine._sessions


def test_a_kernel_that_ends_while_it_asks_leaves_no_session(
    server: ThreadServer, raw: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = server.extension.life

    def swept_meanwhile(body: bytes) -> FetchRequest:
        monkeypatch.setattr(life, "_is_kernel", lambda _: False)
        server.on_loop(life.sweep)
        return read_fetch(body)

    monkeypatch.setattr(handlers, "read_fetch", swept_meanwhile)
    answer, _ = signed(server, identity(raw), route="fetch", body=json.dumps({"url": ARTICLE}).encode())
    assert answer.status == 200
    server.on_loop(life.sweep)
    assert f"kernel:{raw.id}" not in server.on_loop(server.extension.engine)._sessions
