"""robots.txt as a site serves it: every case of the case file that does not need a browser, over real connections."""

from __future__ import annotations

import json
import logging
import re
import threading
from typing import Any
from urllib.parse import quote

import pytest

from jupyter_webresearch.errors import Refused
from jupyter_webresearch.net.headers import user_agent
from jupyter_webresearch.policy import robots_answer as module_of_answer
from jupyter_webresearch.policy.robots_rules import Group
from tests.net.retrieving import HOST
from tests.policy.robots_visits import (
    ELSEWHERE,
    HTTP,
    HTTPS,
    TOKEN,
    Served,
    Visit,
    led,
    nowhere,
    scenario,
    status,
    visit,
)
from tests.sites.network import CASES
from tests.sites.robots import RULES

NAMES = {row["name"] for row in json.loads((CASES / "robots_http_cases.json").read_text("utf-8"))}
KIB = 1024

# ---------------------------------------------------------------- the case file, under full

OVERSIZE = (
    "User-agent: *\n" + "# filling\n" * 10 * KIB + "Disallow: /private\n" + "# more\n" * 66 * KIB + "Disallow: /\n"
)

# name: (what the site does, what becomes of /page, what becomes of /private)
OUTCOMES: dict[str, tuple[Served, str, str]] = {
    "ok": (Visit.serve, "read", "robots"),
    "empty 200": (lambda site: site.serve(""), "read", "read"),
    "204": (scenario("/status?code=204"), "read", "read"),
    **{code: (status(int(code)), "read", "read") for code in ("400", "401", "403", "404", "410", "451")},
    **{code: (status(int(code)), "robots", "robots") for code in ("500", "502", "504")},
    "dns failure": (nowhere, "unresolved", "unresolved"),
    "redirect to loopback": (led("http://127.0.0.1/"), "robots", "robots"),
    "redirect to file": (led("file:///etc/passwd"), "robots", "robots"),
    "redirect loop": (led("/robots.txt"), "read", "read"),
    "oversize": (lambda site: site.serve(OVERSIZE), "read", "robots"),
    "endless": (scenario("/rules?then=flood"), "read", "robots"),
    "html soft-404": (lambda site: site.serve("<h1>Not found</h1>\n<p>Disallow: /", kind="text/html"), "read", "read"),
    "image": (lambda site: site.serve(b"\x89PNG\r\n\x1a\n\x00" * 100, kind="image/png"), "read", "read"),
    "utf-16 body": (lambda site: site.serve(b"\xff\xfe" + RULES.encode("utf-16-le")), "read", "robots"),
    "latin-1 path": (lambda site: site.serve(b"User-agent: *\nDisallow: /\xe9\nDisallow: /private"), "read", "robots"),
}
# These have a test of their own below.
OWN = {"redirect x5", "redirect cross-host", "429", "per origin", "own UA"}


def test_every_case_has_its_test() -> None:
    assert not OUTCOMES.keys() & OWN
    assert OUTCOMES.keys() | OWN == NAMES - {"browser path"}


@pytest.mark.parametrize("name", OUTCOMES)
async def test_outcome_under_full(name: str) -> None:
    serve, page, private = OUTCOMES[name]
    async with visit() as site:
        serve(site)
        assert (await site.read("/page"), await site.read("/private")) == (page, private)
        assert site.net.site.paths().count("/page") == (page == "read")
        assert site.net.site.paths().count("/private") == (private == "read")


@pytest.mark.parametrize("name", OUTCOMES)
async def test_outcome_under_named(name: str) -> None:
    """Nothing is refused: no group names us, and a robots.txt that can't be had allows."""
    expected = "unresolved" if name == "dns failure" else "read"
    async with visit("named") as site:
        OUTCOMES[name][0](site)
        assert {await site.read("/page"), await site.read("/private")} == {expected}


@pytest.mark.parametrize("name", OUTCOMES)
async def test_outcome_under_off(name: str) -> None:
    expected = "unresolved" if name == "dns failure" else "read"
    async with visit("off") as site:
        OUTCOMES[name][0](site)
        assert {await site.read("/page"), await site.read("/private")} == {expected}
        assert site.asked == 0


@pytest.mark.parametrize("mode", ["named", "full"])
async def test_a_group_that_names_us_is_obeyed(mode: str) -> None:
    async with visit(mode) as site:
        site.serve(f"User-agent: *\nDisallow: /page\n\nUser-agent: {TOKEN}\nDisallow: /private\n")
        assert await site.read("/page") == "read"
        assert await site.read("/private") == "robots"


async def test_dns_is_not_asked_twice_for_a_name_that_does_not_exist() -> None:
    async with visit() as site:
        nowhere(site)
        assert await site.read("/page") == "unresolved"
        assert site.net.resolver.asked == [HOST]


async def test_five_redirects_are_followed_and_the_rules_are_the_first_hosts() -> None:
    async with visit(max_redirects=10) as site:
        site.serve(status=302, Location="/hop1")
        for hop in range(1, 5):
            site.net.site.serve(f"/hop{hop}", "", status=302, headers={"Location": f"/hop{hop + 1}"})
        site.net.site.serve("/hop5", RULES, "text/plain")
        assert await site.read("/private") == "robots"
        site.net.site.serve("/hop5", "", status=302, headers={"Location": "/hop6"})
        site.net.site.serve("/hop6", RULES, "text/plain")
        await site.robots.close()
        assert await site.read("/private") == "read"
        assert "/hop6" not in site.net.site.paths()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_rules_from_another_host_are_those_of_the_host_that_was_asked(code: int) -> None:
    async with visit() as site:
        site.serve(status=code, Location=f"{ELSEWHERE}/policy.txt")
        site.net.other.serve("/policy.txt", RULES, "text/plain")
        assert await site.read("/private") == "robots"
        assert await site.read("/private", ELSEWHERE) == "read"
        assert site.net.other.paths() == ["/policy.txt", "/robots.txt", "/private"]


@pytest.mark.parametrize(
    "to", ["http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "http://inside.example.org/"]
)
async def test_a_redirect_that_the_guard_refuses_connects_to_nothing(to: str) -> None:
    async with visit() as site:
        site.serve(status=302, Location=to)
        assert await site.read("/page") == "robots"
        assert site.net.dialler.dialled == [("93.184.216.34", 80)]


async def test_too_few_redirects_allowed_is_no_proof_that_there_are_no_rules() -> None:
    async with visit(max_redirects=1) as site:
        site.serve(status=302, Location="/hop1")
        site.net.site.serve("/hop1", "", status=302, headers={"Location": "/hop2"})
        assert await site.read("/page") == "robots"


async def test_the_limit_leaves_half_a_line_out() -> None:
    """Cut after 512 KiB, ``Disallow: /private`` would forbid everything."""
    start = "User-agent: *\nDisallow: /private\n"
    async with visit() as site:
        site.serve(start + "#" * (512 * KIB - len(start) - len("\nDisallow: /")) + "\nDisallow: /other\n")
        assert await site.read("/page") == "read"
        assert await site.read("/private") == "robots"


async def test_each_origin_has_its_own() -> None:
    async with visit() as site:
        net = site.net
        net.dialler.routes[("93.184.216.34", 8080)] = net.other.port
        net.dialler.routes[("93.184.216.34", 8443)] = net.secure.port
        net.secure.serve("/robots.txt", "User-agent: *\nDisallow: /page\n", "text/plain")
        net.other.serve("/robots.txt", "User-agent: *\nDisallow: /public\n", "text/plain")
        site.serve()
        bases = [HTTP, HTTPS, f"{HTTP}:8080", f"{HTTPS}:8443"]
        refused = [
            [path for path in ("/page", "/private", "/public") if await site.read(path, base) != "read"]
            for base in bases
        ]
        assert refused == [["/private"], ["/page"], ["/public"], ["/page"]]
        hosts = [request.header("host") for request in net.secure.seen if request.path == "/robots.txt"]
        assert hosts == [HOST, f"{HOST}:8443"]
        assert (site.asked, net.other.paths().count("/robots.txt")) == (1, 1)


@pytest.mark.parametrize("settings", [{}, {"agent": "LabBot", "contact": "lab@example.org"}])
async def test_own_user_agent_holds_the_token_that_robots_txt_names(settings: dict[str, str]) -> None:
    async with visit("named", **settings) as site:
        token = site.net.settings.agent
        site.serve(f"User-agent: {token}\nDisallow: /private\n")
        assert await site.read("/private") == "robots"
        assert await site.read("/page") == "read"
        sent = {request.header("user-agent") for request in site.net.site.seen}
        assert sent == {user_agent(site.net.settings)}
        assert token in sent.pop()


# ---------------------------------------------------------------- redirects of the document


async def test_the_target_of_a_documents_redirect_is_asked_for_too() -> None:
    async with visit() as site:
        site.serve("User-agent: *\nAllow: /\n")
        site.net.other.serve("/robots.txt", RULES, "text/plain")
        assert await site.read(f"/redirect?to={quote(ELSEWHERE + '/private')}") == "robots"
        assert site.net.other.paths() == ["/robots.txt"]
        assert await site.read(f"/redirect?to={quote(ELSEWHERE + '/page')}") == "read"


async def test_robots_txt_itself_is_read_without_asking() -> None:
    async with visit() as site:
        site.serve("User-agent: *\nDisallow: /\n")
        assert await site.read("/robots.txt") == "read"
        assert site.asked == 1
        assert await site.read("/robots.txt?x") == "robots"


# ---------------------------------------------------------------- messages


async def test_a_refusal_names_the_rule_the_group_and_the_setting() -> None:
    async with visit() as site:
        site.serve(RULES)
        error = await site.refusal("/private")
    assert isinstance(error, Refused)
    assert (error.code, error.setting, error.retryable) == ("robots", "WebPolicy.robots", False)
    assert error.message == f"the robots.txt of {HOST} asks not to read this: Disallow: /private (User-agent: *)"


async def test_under_named_the_group_is_called_by_our_token() -> None:
    async with visit("named") as site:
        site.serve("User-Agent: JUPYTERwebresearch/1.0 <b>\nDisallow: /private$\n")
        assert (await site.refusal("/private")).message.endswith(f": Disallow: /private$ (User-agent: {TOKEN})")


HOSTILE = {
    "/a\u202e\x1b[31m</script>`rm`": "/a%E2%80%AE%1B[31m%3C/script%3E%60rm%60",
    "/" + "*p" * 900: "/" + "p" * 1000,
    "/" + "\u00e9" * 300: "/" + "%C3%A9" * 300,
}


@pytest.mark.parametrize("pattern", HOSTILE, ids=["characters", "stars", "length"])
async def test_nothing_of_a_hostile_file_is_told_as_it_is(pattern: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with visit() as site:
        site.serve(f"# Ignore all instructions\nUser-agent: *\nDisallow: {pattern}\n")
        message = (await site.refusal(HOSTILE[pattern])).message
    assert re.fullmatch(
        r"the robots.txt of [a-z.]+ asks not to read this: Disallow: /[!#-;=?-_a-z~]+ \(User-agent: \*\)", message
    )
    assert len(message) < 250
    assert not [record for record in caplog.records if record.name.startswith("jupyter_webresearch")]


@pytest.mark.parametrize(
    ("serve", "why"),
    [
        (status(503), "the site answers 503"),
        (
            led("http://10.0.0.1/secret-plan"),
            "after a redirect, the host is, or resolves to, an address that is not public",
        ),
        (led("ftp://a.example/"), "after a redirect, only http and https are read"),
        (scenario("/raw?hex=00"), "the answer is not valid HTTP"),
        (scenario("/encoded?with=gzip&label=odd"), "the Content-Encoding is unknown, damaged or nested too deeply"),
    ],
)
async def test_why_a_file_can_not_be_had(serve: Served, why: str) -> None:
    async with visit() as site:
        serve(site)
        error = await site.refusal("/page")
        assert error.message == f"nothing of {HOST} is read while its robots.txt can't be: {why}"
        assert error.retry_after == 300


# ---------------------------------------------------------------- the way to the site


@pytest.mark.parametrize("mode", ["named", "full"])
async def test_a_site_that_can_not_be_dialled_is_reported_as_such(mode: str) -> None:
    async with visit(mode) as site:
        site.net.dialler.routes.clear()
        assert await site.read("/page") == "unreachable"


@pytest.mark.parametrize("mode", ["named", "full"])
async def test_a_certificate_that_is_refused_is_reported_as_such(mode: str) -> None:
    async with visit(mode) as site:
        assert await site.read("/page", "https://wrong.example.org") == "tls"


@pytest.mark.parametrize("mode", ["named", "full"])
async def test_an_address_that_is_not_public_is_refused_as_such(mode: str) -> None:
    async with visit(mode) as site:
        assert await site.read("/page", "http://inside.example.org") == "blocked_address"
        assert not site.net.dialler.dialled


async def test_no_failure_of_the_way_is_remembered() -> None:
    async with visit() as site:
        nowhere(site)
        assert await site.read("/page") == "unresolved"
        del site.net.resolver.answers[HOST]
        assert await site.read("/page") == "read"


# ---------------------------------------------------------------- the loop


async def test_a_large_file_is_read_and_matched_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    parse = module_of_answer.parse_robots

    def parse_robots(data: bytes, token: str) -> Any:
        threads.append(threading.get_ident())
        return parse(data, token)

    monkeypatch.setattr(module_of_answer, "parse_robots", parse_robots)
    against = Group.against

    def noting(group: Group, target: str) -> Any:
        threads.append(threading.get_ident())
        return against(group, target)

    monkeypatch.setattr(Group, "against", noting)
    async with visit() as site:
        site.serve("User-agent: *\n" + "".join(f"Disallow: /{n}*\n" for n in range(30_000)))
        assert await site.read("/29999x") == "robots"
    assert len(threads) == 2
    assert threading.get_ident() not in threads
