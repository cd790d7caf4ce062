"""Redirects: where they lead, what goes along, what is refused."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from jupyter_webresearch.errors import BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.net.redirects import join_location
from jupyter_webresearch.policy.urls import parse_url
from tests.net.retrieving import HOST, OTHER, PRIVATE, echoed, rig

BASE = f"http://{HOST}"
SECURE = f"https://{HOST}"


def to(location: str | bytes, code: int = 302) -> str:
    """Path of a redirect to a location, byte for byte."""
    raw = location.encode() if isinstance(location, str) else location
    return f"/redirect?code={code}&to={quote(raw, safe='')}"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("with_body", [True, False])
async def test_method_and_body_after_a_redirect(code: int, method: str, with_body: bool) -> None:
    if with_body and method in ("GET", "HEAD"):
        return
    body = b"a body" if with_body else None
    async with rig() as net:
        answer = await net.get(to("/echo", code), method=method, body=body, headers=(("X-A", "1"),))
        second = net.site.seen[1]
    becomes_get = (code == 303 and method != "HEAD") or (code in (301, 302) and method == "POST")
    assert answer.method == second.method == ("GET" if becomes_get else method)
    assert second.body == (b"" if becomes_get or not body else body)
    assert (second.header("content-type") is None) == (becomes_get or not body)
    assert second.header("x-a") == "1"
    assert [hop.status for hop in answer.hops] == [code, 200]
    assert [hop.url for hop in answer.hops] == [BASE + to("/echo", code), BASE + "/echo"]
    assert answer.url == answer.head.url == BASE + "/echo"
    assert answer.requested == BASE + to("/echo", code)


@pytest.mark.parametrize("code", [300, 304, 305, 306])
async def test_other_3xx_are_final(code: int) -> None:
    async with rig() as net:
        answer = await net.get(to("/echo", code))
    assert answer.head.status == code
    assert len(net.site.seen) == 1


@pytest.mark.parametrize("code", [301, 303, 307])
async def test_a_redirect_without_location_is_final(code: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/status?code={code}&body=here")
    assert (answer.head.status, answer.body) == (code, b"here")


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://127.0.0.1/", "blocked_address"),
        ("http://169.254.169.254/latest/meta-data/", "blocked_address"),
        ("http://[::1]/", "blocked_address"),
        ("//10.0.0.1/", "blocked_address"),
        ("http://localhost/", "blocked_host"),
        ("http://metadata.google.internal/", "blocked_host"),
        (f"http://{PRIVATE}/", "blocked_address"),
        (f"http://{HOST}:22/", "blocked_port"),
        (f"//{HOST}:6000/", "blocked_port"),
        ("file:///etc/passwd", "unsupported_scheme"),
        ("data:text/html,hello", "unsupported_scheme"),
        ("javascript:alert(1)", "unsupported_scheme"),
        (f"ftp://{HOST}/", "unsupported_scheme"),
        ("FILE:///etc/passwd", "unsupported_scheme"),
        (f"http:{HOST}", "invalid_url"),
        ("http:127.0.0.1", "invalid_url"),
        (f"http:/{HOST}/", "invalid_url"),
        (f"http:///{HOST}/", "invalid_url"),
        (f"///{HOST}/", "invalid_url"),
        ("http://", "invalid_url"),
        (f"http://good@{HOST}/", "invalid_url"),
        (f"//user:password@{HOST}/", "invalid_url"),
        (f"http://{HOST}\\@127.0.0.1/", "invalid_url"),
        ("/\\127.0.0.1/", "invalid_url"),
        ("\\\\127.0.0.1\\x", "invalid_url"),
        (b"/a\x01b", "invalid_url"),
        (b"/a\tb", "invalid_url"),
        (b"http://\xff\xfe/", "invalid_url"),
        (f"http://{HOST} .evil.example/", "invalid_url"),
        ("http://2130706433/", "invalid_url"),
        ("http://0x7f.1/", "invalid_url"),
        ("http://①②⑦.0.0.1/", "invalid_url"),
        (f"http://{HOST}:80:80/", "invalid_url"),
        ("/" + "a" * 2048, "invalid_url"),
        (BASE + "/" + "a" * (2048 - len(BASE)), "invalid_url"),
    ],
)
async def test_refused_locations(location: str | bytes, code: str) -> None:
    async with rig() as net:
        # Not by /redirect: a URL that names the location would itself be too long.
        raw = location.encode() if isinstance(location, str) else location
        net.site.serve("/here", b"", status=302, headers={"Location": raw.decode("latin-1")})
        with pytest.raises((Refused, BadInput)) as caught:
            await net.get("/here")
        assert caught.value.code == code
        assert caught.value.message.startswith("redirect refused: ")
        assert "10.1.2.3" not in caught.value.message
        assert len(net.dialler.dialled) == 1


async def test_a_location_that_ends_in_two_places_is_refused() -> None:
    async with rig() as net:
        with pytest.raises(BadInput, match="redirect refused: "):
            await net.get(to("/echo") + "&to=/plain")


async def test_a_location_of_2048_characters_is_followed() -> None:
    target = "/echo?" + "a" * (2048 - len(BASE) - 6)
    async with rig() as net:
        net.site.serve("/here", b"", status=302, headers={"Location": BASE + target})
        assert (await net.get("/here")).url == BASE + target


@pytest.mark.parametrize(
    ("location", "joined"),
    [
        (b"/x", "http://a.example/x"),
        (b"x", "http://a.example/b/x"),
        (b"x/../y?z", "http://a.example/b/y?z"),
        (b"../../..", "http://a.example/"),
        (b"?q", "http://a.example/b/c?q"),
        (b"#f", "http://a.example/b/c?d"),
        (b"//c.example/x", "http://c.example/x"),
        (b"HTTPS://C.example/X#f", "https://c.example/X"),
        (b"/a b", "http://a.example/a%20b"),
        ("/ü".encode(), "http://a.example/%C3%BC"),
        (b"/\xfc", "http://a.example/%FC"),
        ("http://bücher.example/ü".encode(), "http://xn--bcher-kva.example/%C3%BC"),
        (b"/x?u=http://127.0.0.1/@", "http://a.example/x?u=http://127.0.0.1/@"),
        (b"/%2e%2e/%41", "http://a.example/%41"),
        (b" /x ", "http://a.example/x"),
    ],
)
def test_joining(location: bytes, joined: str) -> None:
    assert parse_url(join_location(parse_url("http://a.example/b/c?d"), location)).href == joined


@pytest.mark.parametrize(("n", "reached"), [(0, True), (1, True), (5, True), (6, False)])
async def test_chains(n: int, reached: bool) -> None:
    async with rig() as net:
        if reached:
            answer = await net.get(f"/chain?n={n}")
            assert [hop.status for hop in answer.hops] == [302] * n + [200]
            assert [hop.seconds for hop in answer.hops] == sorted(hop.seconds for hop in answer.hops)
            return
        with pytest.raises(Failed) as caught:
            await net.get(f"/chain?n={n}")
        assert caught.value.code == "too_many_redirects"


@pytest.mark.parametrize("path", ["/loop", "/grow"])
@pytest.mark.parametrize("most", [0, 5, 10])
async def test_endless_redirects_end_at_the_limit(path: str, most: int) -> None:
    async with rig(max_redirects=most) as net:
        with pytest.raises(Failed) as caught:
            await net.get(path)
        assert caught.value.code == "too_many_redirects"
        assert len(net.site.seen) == most + 1


LEAVING = [f"http://{OTHER}/echo", f"http://{HOST}:8080/echo", f"{SECURE}/echo"]


@pytest.mark.parametrize("location", LEAVING)
async def test_headers_stay_with_their_origin(location: str) -> None:
    given = (("Authorization", "secret"), ("Cookie", "a=b"), ("X-Key", "k"), ("User-Agent", "mine"))
    async with rig() as net:
        seen = echoed(await net.get(to(location), headers=given))
    names = [name.lower() for name, _ in seen["headers"]]
    assert names == ["host", "user-agent", "accept", "accept-language", "accept-encoding"]
    assert "mine" not in dict(seen["headers"]).values()


async def test_headers_do_not_come_back() -> None:
    there_and_back = to(f"http://{OTHER}{to(f'{BASE}/echo')}")
    async with rig() as net:
        seen = echoed(await net.get(there_and_back, headers=(("X-Key", "k"),)))
    assert "X-Key" not in dict(seen["headers"])


@pytest.mark.parametrize("location", LEAVING)
@pytest.mark.parametrize(
    ("code", "method"), [(307, "POST"), (308, "POST"), (307, "PUT"), (301, "PUT"), (302, "PATCH"), (308, "GET")]
)
async def test_a_body_stays_with_its_origin(location: str, code: int, method: str) -> None:
    async with rig() as net:
        with pytest.raises(Refused, match=r"^redirect refused: ") as caught:
            await net.get(to(location, code), method=method, body=b"secret")
        assert caught.value.code == "redirect_refused"
        assert len(net.dialler.dialled) == 1


@pytest.mark.parametrize(("code", "method"), [(303, "POST"), (303, "PUT"), (301, "POST"), (302, "POST")])
async def test_a_body_that_is_dropped_does_not_hold_a_redirect(code: int, method: str) -> None:
    async with rig() as net:
        seen = echoed(await net.get(to(f"http://{OTHER}/echo", code), method=method, body=b"secret"))
    assert (seen["method"], seen["body"]) == ("GET", "")


async def test_leaving_https_is_flagged() -> None:
    async with rig() as net:
        answer = await net.get(SECURE + to(f"{BASE}/echo"))
        assert answer.insecure_redirect
        assert not (await net.get(BASE + to(f"{SECURE}/echo"))).insecure_redirect
        assert not (await net.get(SECURE + to("/echo"))).insecure_redirect


@pytest.mark.parametrize(
    "given",
    [
        {"headers": (("Accept", "text/html"),)},
        {"method": "POST", "body": b"x"},
        {"method": "POST", "body": b"x", "headers": (("X-A", "b"),)},
    ],
)
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_leaving_https_with_something_to_lose_is_refused(given: dict, code: int) -> None:
    async with rig() as net:
        with pytest.raises(Refused, match=r"^redirect refused: ") as caught:
            await net.get(SECURE + to(f"{BASE}/echo", code), **given)
        assert caught.value.code == "insecure_redirect"
        assert not net.site.seen


async def test_cookies_are_never_sent_back() -> None:
    async with rig() as net:
        for _ in range(2):
            seen = echoed(await net.get("/set-cookie"))
            assert "cookie" not in {name.lower() for name, _ in seen["headers"]}
            assert "referer" not in {name.lower() for name, _ in seen["headers"]}


async def test_a_redirects_body_is_never_read() -> None:
    async with rig() as net:
        net.site.serve("/silent-body", b"x" * 9_000_000, status=302, headers={"Location": "/echo"})
        assert echoed(await net.get("/silent-body"))["target"] == "/echo"
        assert echoed(await net.get("/redirect-bomb"))["target"] == "/echo"


async def test_refresh_is_no_redirect() -> None:
    async with rig() as net:
        assert (await net.get("/refresh")).url == BASE + "/refresh"


async def test_a_failure_after_a_redirect_is_the_sites_own() -> None:
    async with rig() as net:
        net.resolver.answers["gone.example.org"] = "gaierror"
        with pytest.raises(WebResearchError) as caught:
            await net.get(to("http://gone.example.org/"))
        assert caught.value.code == "unresolved"
