"""What an agent's tool is told: one error for all that is refused, one for all that can't be reached, to the byte."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import httpcore
import pytest

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.errors import CODES, Failed, NotOfThisKind, Refused, WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.answer import Disposition
from jupyter_webresearch.net.endpoint import EndpointStatus
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.policy.addresses import IPAddress
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.disclosure import DISCLOSED, as_told_to_agent
from jupyter_webresearch.policy.guard import Guard
from tests.net.retrieving import AUTHORITY
from tests.own_time import in_own_time
from tests.sites import Authority, Site
from tests.sites.network import MappedDialler, StubResolver

BLOCKED = {
    "acting_not_allowed",
    "blocked",
    "blocked_host",
    "blocked_port",
    "classifier",
    "disabled",
    "insecure_redirect",
    "needs_approval",
    "not_allowed",
    "redirect_refused",
    "robots",
    "unsupported_scheme",
}
UNREACHABLE = {
    "blocked_address",
    "proxy_auth",
    "proxy_failed",
    "timeout",
    "tls",
    "tls_intercepted",
    "unreachable",
    "unresolved",
}
BARE = {"budget_unavailable", "config", "credential_unavailable", "internal", "journal_unavailable"}

ANSWERS = {
    "private.example.org": ["10.1.2.3"],
    "private6.example.org": ["fd00::17"],
    "loopback.example.org": ["127.0.0.1"],
    "metadata.example.org": ["169.254.169.254"],
    "vpn.example.org": ["198.18.7.7"],
    "carrier.example.org": ["100.77.6.5"],
    "mixed.example.org": ["93.184.216.34", "10.1.2.3"],
    "own.example.org": ["93.184.216.99"],
    "nxdomain.example.org": "gaierror",
    "empty.example.org": [],
    "closed.example.org": ["93.184.216.41", "2606:4700:abcd::41"],
    "silent.example.org": ["93.184.216.42"],
    "elsewhere.example.org": ["93.184.216.43"],
    "plain.example.org": ["93.184.216.44"],
    "stranger.example.org": ["93.184.216.45"],
}
UNREACHED = [
    *(f"http://{host}/" for host in ANSWERS if host != "plain.example.org"),
    "http://10.1.2.3/",
    "http://127.0.0.1:8080/",
    "http://[::1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://198.18.7.7/",
    "https://closed.example.org/",
    "https://closed.example.org:8443/",
    "https://silent.example.org/",
    "https://plain.example.org/",
    "https://stranger.example.org/",
    "http://plain.example.org/hang",
    "http://plain.example.org/silence?type=application/json",
    "http://plain.example.org/redirect?to=http://10.1.2.3/",
    "http://plain.example.org/redirect?to=http://private.example.org/",
    "http://plain.example.org/redirect?to=http://nxdomain.example.org/",
    "http://plain.example.org/redirect?to=http://closed.example.org/",
]
REFUSED = [
    "http://localhost/",
    "http://blocked.example.com/",
    "http://metadata.google.internal/",
    "http://printer.lan/",
    "http://www.example.org:22/",
    "http://www.example.org:8888/",
    "file:///etc/passwd",
    "ftp://www.example.org/",
    "http://plain.example.org/redirect?to=http://localhost/",
    "http://plain.example.org/redirect?to=http://www.example.org:22/",
    "http://plain.example.org/redirect?to=file:///etc/passwd",
]


class TellingDialler(MappedDialler):
    """Names the address in what it raises, as the system does, and says nothing for one of them."""

    async def connect(self, address: IPAddress, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        if str(address) == "93.184.216.42":
            await asyncio.sleep(3600)
        try:
            stream = await super().connect(address, port, timeout)
        except httpcore.ConnectError as error:
            raise OSError(111, f"Connect call failed ('{address}', {port})") from error
        if str(address) == "93.184.216.43":
            self.streams[-1]._peer = ("10.1.2.3", port)
        return stream


async def ends(urls: Sequence[str]) -> dict[str, WebResearchError]:
    """Read each URL through guard, retriever and transport; every one of them must end in an error."""
    async with Site() as site, Site(tls=Authority().server("stranger.example.org")) as stranger:
        routes: dict[Any, Any] = {
            "93.184.216.34": site.port,
            "93.184.216.43": site.port,
            "93.184.216.44": site.port,
            ("93.184.216.45", 443): stranger.port,
        }
        settings = WebFetch(timeout=20)
        policy = WebPolicy(extra_blocked=["blocked.example.com"])
        guard = Guard(policy, interfaces=lambda: frozenset({ip_address("93.184.216.99")}), own_ports=frozenset)
        transport = GuardedTransport(
            settings, resolver=StubResolver(ANSWERS), dialler=TellingDialler(routes), ssl_context=AUTHORITY.client
        )
        retriever = Retriever(transport, settings, SystemClock())
        errors = {}
        for url in urls:
            with pytest.raises(WebResearchError) as caught:
                await retriever.retrieve(
                    FetchRequest(url),
                    admission=GuardAdmission(guard),
                    on_phase=lambda _phase: None,
                    deadline=SystemClock().monotonic() + 20,
                    accept=lambda _head: Disposition(1 << 20, "error"),
                )
            errors[url] = caught.value
        return errors


def shown(error: WebResearchError) -> str:
    """All that a tool could make of an error."""
    told = as_told_to_agent(error)
    return "\n".join(
        [
            json.dumps(told.to_json()),
            repr(told),
            str(told),
            repr(told.args),
            repr(vars(told)),
            *told._render_traceback_(),
            *traceback.format_exception(told),
            repr((told.__cause__, told.__context__, told.status, type(told))),
        ]
    )


@in_own_time
async def test_whatever_cannot_be_reached_looks_the_same() -> None:
    errors = await ends(UNREACHED)
    assert {error.code for error in errors.values()} == {
        "blocked_address",
        "unresolved",
        "unreachable",
        "tls",
        "timeout",
    }, "the cases differ for a person"
    forms = {shown(error) for error in errors.values()}
    assert len(forms) == 1
    [form] = forms
    assert as_told_to_agent(errors[UNREACHED[0]]).to_json() == {
        "message": "the host can't be reached; is the URL right?",
        "reason": CODES["unreachable"].meaning,
        "code": "unreachable",
        "retryable": True,
    }
    for secret in ("10.1.2.3", "198.18", "93.184", "example", "private", "redirect", "/8", "/15"):
        assert secret not in form


@in_own_time
async def test_whatever_the_policy_refuses_looks_the_same() -> None:
    errors = await ends(REFUSED)
    assert {error.code for error in errors.values()} == {"blocked_host", "blocked_port", "unsupported_scheme"}
    forms = {shown(error) for error in errors.values()}
    assert len(forms) == 1
    assert as_told_to_agent(errors[REFUSED[0]]).to_json() == {
        "message": "the policy here does not allow this; another source may do, or the person can help",
        "reason": CODES["blocked"].meaning,
        "code": "blocked",
        "retryable": False,
    }


def full(code: str) -> WebResearchError:
    """An error with all that one can hold."""
    error = type(WebResearchError.from_json({"code": code}))(
        code, "10.1.2.3 said no", setting="WebPolicy.ceiling", retry_after=7.5, host="inside.example.org"
    )
    error.__cause__ = OSError("10.1.2.3")
    return error


def test_every_code_is_classified() -> None:
    assert set(DISCLOSED) == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_how_each_code_is_told(code: str) -> None:
    error = full(code)
    told = as_told_to_agent(error)
    assert told is not error
    assert (told.__cause__, told.__context__, told.host) == (None, None, "")
    if code in BLOCKED:
        assert (type(told), told.code) == (Refused, "blocked")
        assert shown(error) == shown(full("blocked"))
    elif code in UNREACHABLE:
        assert (type(told), told.code) == (Failed, "unreachable")
        assert shown(error) == shown(full("unreachable"))
    elif code in BARE:
        assert (type(told), told.code, told.message) == (type(error), code, CODES[code].meaning)
        assert (told.setting, told.retry_after, told.page) == ("", None, None)
    else:
        assert (type(told), told.code, told.message) == (type(error), code, error.message)
        assert (told.setting, told.retry_after) == (error.setting, error.retry_after)


def test_raised_while_another_is_handled_it_shows_that_one_to_nobody() -> None:
    try:
        try:
            raise Refused("blocked_address", "inside.example.org is not public")
        except Refused as error:
            raise as_told_to_agent(error)  # noqa: B904 - by mistake
    except WebResearchError as told:
        assert "inside" not in "".join(traceback.format_exception(told))


@pytest.mark.parametrize("error", [NotOfThisKind("no JSON"), EndpointStatus(500)])
def test_errors_of_other_classes(error: WebResearchError) -> None:
    told = as_told_to_agent(error)
    assert (told.code, told.message) == (error.code, error.message)
    assert isinstance(error, type(told))
