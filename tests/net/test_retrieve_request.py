"""What leaves the machine, and what never does."""

from __future__ import annotations

import pytest

from jupyter_webresearch import __version__
from jupyter_webresearch.config import BOT_PAGE, WebPolicy
from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.urls import CheckedURL
from tests.net.retrieving import HOST, echoed, rig


async def test_without_headers_exactly_these_are_sent() -> None:
    async with rig() as net:
        seen = echoed(await net.get("/echo?a=b#fragment"))
    assert seen["method"] == "GET"
    assert seen["target"] == "/echo?a=b"
    assert seen["headers"] == [
        ["Host", HOST],
        ["User-Agent", f"JupyterWebResearch/{__version__} (+{BOT_PAGE})"],
        ["Accept", seen["headers"][2][1]],
        ["Accept-Language", "en,*;q=0.5"],
        ["Accept-Encoding", "gzip, deflate, br"],
    ]
    assert seen["body"] == ""
    assert net.phases == ["resolving", "connecting", "receiving"]


OURS = f"JupyterWebResearch/{__version__}"


@pytest.mark.parametrize(
    ("identity", "sent"),
    [
        ({"contact": "me@lab.example"}, f"{OURS} (+{BOT_PAGE}; me@lab.example)"),
        ({"agent_url": ""}, OURS),
        ({"agent_url": "", "contact": "me"}, f"{OURS} (me)"),
        ({"agent": "Lab_Reader-X", "agent_url": "u"}, f"Lab_Reader-X/{__version__} (+u)"),
        ({"agent_url": "https://a.example/(b)", "contact": "\\) evil/1 ("}, f"{OURS} (+https://a.example/b;  evil/1 )"),
    ],
)
async def test_who_we_are_is_a_setting(identity: dict[str, str], sent: str) -> None:
    async with rig(**identity) as net:
        assert dict(echoed(await net.get("/echo"))["headers"])["User-Agent"] == sent


async def test_the_language_is_a_setting() -> None:
    async with rig(accept_language="fr") as net:
        assert dict(echoed(await net.get("/echo"))["headers"])["Accept-Language"] == "fr"


class Adding(GuardAdmission):
    """Adds what an operation adds."""

    async def headers(self, url: CheckedURL, *, redirected: bool) -> tuple[tuple[str, str], ...]:
        return (("X-Request-ID", "ours"),)


@pytest.mark.parametrize("name", ["X-Request-ID", "x-request-id", "X_Request_Id", "X.Request.ID", "x~request!id"])
async def test_what_is_added_replaces_the_callers(name: str) -> None:
    async with rig() as net:
        net.admission = Adding(Guard(WebPolicy(), interfaces=frozenset, own_ports=frozenset))
        sent = echoed(await net.get("/redirect?to=/echo", headers=((name, "theirs"), ("X-A", "1"))))["headers"]
        first = net.site.seen[0].headers
    assert sent[-2:] == [["X-A", "1"], ["X-Request-ID", "ours"]]
    assert "theirs" not in (*dict(first).values(), *dict(sent).values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("User-Agent", "mine/1"),
        ("accept", "application/json"),
        ("ACCEPT-LANGUAGE", "de"),
        ("Accept-Encoding", "identity"),
        ("Accept-Encoding", "br;q=1.0, x-gzip;q=0.5"),
        ("Cookie", "a=b; c=d"),
        ("Authorization", "Bearer token"),
        ("Referer", "https://www.example.org/"),
        ("X-Name", "grüße"),
        ("X-Tab", "a\tb"),
        ("X-Empty", ""),
    ],
)
async def test_a_callers_header_goes_out_as_given(name: str, value: str) -> None:
    async with rig() as net:
        sent = echoed(await net.get("/echo", headers=((name, value),)))["headers"]
    same = [pair for pair in sent if pair[0].lower() == name.lower()]
    assert same == [[name, value.encode().decode("latin-1")]]


async def test_repeated_headers_stay_in_order() -> None:
    async with rig() as net:
        sent = echoed(await net.get("/echo", headers=(("X-A", "1"), ("X-B", "2"), ("X-A", "3"))))["headers"]
    assert sent[-3:] == [["X-A", "1"], ["X-B", "2"], ["X-A", "3"]]


REFUSED = [
    *["Host", "Content-Length", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"],
    *["HTTP2-Settings", "Proxy-Authorization", "Proxy-Connection", "proxy-anything", "Metadata", "Metadata-Flavor"],
    *["X-aws-ec2-metadata-token", "X-aws-ec2-metadata-token-ttl-seconds"],
]


def underscored(name: str) -> str:
    return name.replace("-", "_")


def dotted(name: str) -> str:
    return name.replace("-", ".")


@pytest.mark.parametrize(
    "name", dict.fromkeys(form(name) for name in REFUSED for form in (str, str.upper, str.lower, underscored, dotted))
)
async def test_headers_refused_by_name(name: str) -> None:
    async with rig() as net:
        with pytest.raises(BadInput, match=name) as caught:
            await net.get("/echo", headers=(("X-Fine", "1"), (name, "x")))
        assert caught.value.code == "blocked_header"
        assert net.untouched()


INSTEAD = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "HTTP-Method-Override"]


@pytest.mark.parametrize("name", [form(name) for name in INSTEAD for form in (str, str.lower, underscored, dotted)])
async def test_a_read_stays_a_read(name: str) -> None:
    """Where only reading is allowed, no header may make the server do something else."""
    async with rig() as net:
        for method in ("GET", "HEAD", "get"):
            with pytest.raises(BadInput) as caught:
                await net.get("/echo", method=method, headers=((name, "DELETE"),))
            assert caught.value.code == "blocked_header"
        assert net.untouched()
        assert echoed(await net.get("/echo", method="POST", headers=((name, "GET"),)))["method"] == "POST"


@pytest.mark.parametrize(
    "header",
    [
        ("X-A", "a\r\nX-B: b"),
        ("X-A", "a\nX-B: b"),
        ("X-A", "a\r"),
        ("X-A", "a\0b"),
        ("X-A", "\x1b[31m"),
        ("X-A", "\x7f"),
        ("X-A", "\ud800"),
        ("X-A\r\nX-B", "b"),
        ("X A", "b"),
        ("X-A:", "b"),
        ("", "b"),
        ("Ä", "b"),
        ("X" * 300, "b"),
        ("X-A", "a" * 20_000),
        ("Accept-Encoding", "zstd"),
        ("Accept-Encoding", "gzip, *"),
    ],
)
async def test_headers_that_are_none(header: tuple[str, str]) -> None:
    async with rig() as net:
        with pytest.raises(BadInput) as caught:
            await net.get("/echo", headers=(header,))
        assert caught.value.code == "blocked_header"
        assert net.untouched()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH", "get"])
async def test_methods_that_are_sent(method: str) -> None:
    async with rig() as net:
        answer = await net.get("/echo", method=method)
    assert echoed(answer)["method"] == answer.method == method.upper()


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "trace", "Connect", "", "GE T", "GET\r\n", "GÉT", "GET /", "("])
async def test_methods_that_are_not(method: str) -> None:
    async with rig() as net:
        with pytest.raises(BadInput) as caught:
            await net.get("/echo", method=method)
        assert caught.value.code == "blocked_method"
        assert net.untouched()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"q": 1}', "application/json"),
        (b" [1, 2]\n", "application/json"),
        (b"a=b&c=d", "text/plain; charset=utf-8"),
        ("größe".encode(), "text/plain; charset=utf-8"),
        (b"{not closed", "text/plain; charset=utf-8"),
        (b"\xff\xfe\x00", "application/octet-stream"),
    ],
)
async def test_a_body_and_its_type(body: bytes, content_type: str) -> None:
    async with rig() as net:
        seen = echoed(await net.get("/echo", method="POST", body=body))
        own = echoed(await net.get("/echo", method="POST", body=body, headers=(("content-type", "x/y"),)))
    assert seen["body"].encode("latin-1") == body
    headers = [tuple(pair) for pair in seen["headers"]]
    assert ("Content-Type", content_type) in headers
    assert ("Content-Length", str(len(body))) in headers
    assert [value for name, value in own["headers"] if name.lower() == "content-type"] == ["x/y"]


@pytest.mark.parametrize(("size", "sent"), [(1 << 20, True), ((1 << 20) + 1, False)])
async def test_the_size_of_a_body(size: int, sent: bool) -> None:
    async with rig() as net:
        if sent:
            assert len(echoed(await net.get("/echo", method="PUT", body=b"x" * size))["body"]) == size
            return
        with pytest.raises(BadInput) as caught:
            await net.get("/echo", method="PUT", body=b"x" * size)
        assert caught.value.code == "request_too_large"
        assert net.untouched()


async def test_environment_proxies_and_netrc_are_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {HOST} login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with rig() as net:
        names = [name.lower() for name, _ in echoed(await net.get("/echo"))["headers"]]
    assert "authorization" not in names
