"""The decision, for whole classes of URLs, names, ports and addresses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pytest

from jupyter_webresearch.config import BAD_PORTS, WebPolicy
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.policy.guard import MAX_ANSWERS, Guard
from tests.policy.test_addresses import FORMS, METADATA, NEIGHBOURS, RANGES, first_second_last
from tests.sites.network import CASES

PUBLIC = "93.184.216.34"
OWN = "203.0.114.77"  # a public address, here of an interface


def guard(*, own: Sequence[str] = (), ports: Sequence[int] = (), **policy: Any) -> Guard:
    return Guard(
        WebPolicy(**policy),
        interfaces=lambda: frozenset(ip_address(text) for text in own),
        own_ports=lambda: frozenset(ports),
    )


def literal(text: str) -> str:
    return f"http://[{text}]/" if ":" in text else f"http://{text}/"


def refusal(judge: Guard, url: str, *answers: str) -> WebResearchError:
    with pytest.raises(WebResearchError) as caught:
        checked = judge.check_url(url)
        if answers:
            judge.check_addresses(checked, answers)
    return caught.value


def allowed(judge: Guard, url: str, *answers: str) -> bool:
    try:
        checked = judge.check_url(url)
        judge.check_addresses(checked, answers or [str(checked.address or PUBLIC)])
    except WebResearchError:
        return False
    return True


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize("row", RANGES, ids=lambda row: row["cidr"])
def test_every_range_as_literal_and_as_answer(row: dict[str, str]) -> None:
    judge = guard()
    for text in first_second_last(row):
        assert refusal(judge, literal(text)).code == "blocked_address"
        assert refusal(judge, "http://example.com/", text).code == "blocked_address"
        assert refusal(judge, "http://example.com/", PUBLIC, text).code == "blocked_address"
        assert refusal(judge, "http://example.com/", text, PUBLIC).code == "blocked_address"


@pytest.mark.parametrize("form", FORMS)
def test_every_ipv4_range_in_every_form(form: str) -> None:
    judge = guard()
    for text in (text for row in RANGES if row["version"] == 4 for text in first_second_last(row)):
        outer = str(IPv6Address(FORMS[form](int(IPv4Address(text)))))
        assert refusal(judge, literal(outer)).code == "blocked_address"
        assert refusal(judge, "http://example.com/", outer).code == "blocked_address"


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_public_addresses_are_refused_too(form: str) -> None:
    assert not allowed(guard(), literal(str(IPv6Address(FORMS[form](int(IPv4Address(PUBLIC)))))))


@pytest.mark.parametrize("text", NEIGHBOURS.split())
def test_neighbours_stay_allowed(text: str) -> None:
    assert allowed(guard(), literal(text))
    assert allowed(guard(), "https://example.com/", text, PUBLIC)


@pytest.mark.parametrize(
    "answer",
    ["", "not an internet address", "/run/socket", "127.1", "0x7f.1", "2130706433", "localhost", f"{PUBLIC}\0"],
)
def test_an_answer_that_is_no_address_refuses_the_host(answer: str) -> None:
    assert refusal(guard(), "http://example.com/", PUBLIC, answer).code == "blocked_address"


def test_zone_ids_do_not_hide_an_address() -> None:
    assert not allowed(guard(), "http://example.com/", "fe80::1%eth0")
    assert not allowed(guard(allow_private_networks=["::/0"]), "http://example.com/", "fe80::a9fe:a9fe%2")


def test_no_answer_is_unresolved() -> None:
    judge = guard()
    with pytest.raises(WebResearchError) as caught:
        judge.check_addresses(judge.check_url("http://example.com/"), [])
    assert caught.value.code == "unresolved"


def test_answers_keep_their_order_and_lose_repetitions() -> None:
    judge = guard()
    url = judge.check_url("http://example.com/")
    answers = ["2606:4700:4700::1111", PUBLIC, "2606:4700:4700:0::1111", PUBLIC]
    assert [str(address) for address in judge.check_addresses(url, answers)] == answers[:2]


def test_many_answers_are_all_judged_up_to_a_limit() -> None:
    judge = guard()
    url = "http://example.com/"
    many = [str(IPv4Address("93.184.0.0") + n) for n in range(MAX_ANSWERS)]
    assert allowed(judge, url, *many)
    assert not allowed(judge, url, *many[:-1], "127.0.0.1")
    assert not allowed(judge, url, *many, "93.185.0.0")


# ---------------------------------------------------------------- allow_private_networks


def test_allowed_networks_open_their_addresses_and_no_others() -> None:
    judge = guard(allow_private_networks=["10.20.0.0/16", "fd12::/16"])
    for text in ("10.20.0.1", "10.20.255.255", "fd12::1"):
        assert allowed(judge, literal(text))
        assert allowed(judge, "http://wiki.example.com/", text)
        assert allowed(judge, "http://wiki.example.com/", text, PUBLIC)
    for text in ("10.21.0.1", "127.0.0.1", "fd13::1", "::1"):
        assert not allowed(judge, literal(text))
        assert not allowed(judge, "http://wiki.example.com/", "10.20.0.1", text)


@pytest.mark.parametrize("form", FORMS)
def test_an_allowed_network_does_not_open_other_forms(form: str) -> None:
    outer = str(IPv6Address(FORMS[form](int(IPv4Address("10.20.0.1")))))
    assert not allowed(guard(allow_private_networks=["10.20.0.0/16"]), literal(outer))
    assert not allowed(guard(allow_private_networks=["::/0"]), literal(outer)), "the carried address is not allowed"


@pytest.mark.parametrize("text", METADATA.split())
def test_no_setting_is_named_for_metadata(text: str) -> None:
    for policy in ({}, {"allow_private_networks": ["0.0.0.0/0", "::/0"]}):
        assert refusal(guard(**policy), literal(text)).setting == ""


@pytest.mark.parametrize("text", METADATA.split())
def test_metadata_is_refused_under_every_setting(text: str) -> None:
    judge = guard(allow_private_networks=["0.0.0.0/0", "::/0"], allow_nat64=["64:ff9b::/96", "::ffff:0:0/96"])
    assert not allowed(judge, literal(text))
    assert not allowed(judge, "http://example.com/", text)
    if ":" not in text:
        for form in FORMS.values():
            assert not allowed(judge, literal(str(IPv6Address(form(int(IPv4Address(text)))))))


def test_private_names_go_on_to_dns_once_private_networks_are_allowed() -> None:
    judge = guard(allow_private_networks=["10.20.0.0/16"])
    for host in ("intranet", "db.internal", "printer.local", "nas.lan", "wiki.corp", "box.home.arpa", "a.b.internal"):
        assert refusal(guard(), f"http://{host}/").code == "blocked_host"
        assert allowed(judge, f"http://{host}/", "10.20.0.1")
        assert refusal(judge, f"http://{host}/", "10.21.0.1").code == "blocked_address"


NEVER = """
    localhost LOCALHOST localhost. foo.localhost a.b.localhost. localhost.localdomain x.localdomain localhost6
    localhost6.localdomain6 ip6-localhost ip6-loopback metadata metadata.google.internal x.metadata.google.internal
    metadata.goog instance-data instance-data.ec2.internal metadata.tencentyun.com rancher-metadata host.docker.internal
    gateway.docker.internal kubernetes kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local
    duskgytldkxiuqc6.onion nx.invalid invalid a.test test
"""


@pytest.mark.parametrize("host", NEVER.split())
def test_names_that_are_refused_under_every_setting(host: str) -> None:
    for judge in (guard(), guard(allow_private_networks=["0.0.0.0/0", "::/0"])):
        assert refusal(judge, f"http://{host}/").code == "blocked_host"


def test_localhost_says_how_to_write_it() -> None:
    assert "http://127.0.0.1:PORT" in refusal(guard(), "http://localhost/").message


@pytest.mark.parametrize(
    "host",
    ["localhost.example.com", "localhost-docs.org", "metadata.example.com", "internal.example.com", "mylocal.de"],
)
def test_names_are_compared_by_labels(host: str) -> None:
    assert allowed(guard(), f"http://{host}/")


# ---------------------------------------------------------------- this machine


def test_own_interfaces_are_refused() -> None:
    judge = guard(own=[OWN, "2a00:1450::77"])
    assert allowed(guard(), literal(OWN))
    for text in (OWN, "2a00:1450::77"):
        assert refusal(judge, literal(text)).code == "blocked_address"
        assert refusal(judge, "http://example.com/", text).code == "blocked_address"
    assert allowed(judge, literal("203.0.114.78"))


def test_own_interfaces_can_be_allowed() -> None:
    assert allowed(guard(own=[OWN], allow_private_networks=[f"{OWN}/32"]), literal(OWN))


@pytest.mark.parametrize("text", ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", OWN])
def test_the_ports_of_jupyter_are_refused_on_this_machine(text: str) -> None:
    judge = guard(
        own=[OWN],
        ports=[8443],
        allow_private_networks=["0.0.0.0/0", "::/0"],
        allowed_ports=[8443, 8080],
        allow_nat64=[],
    )
    url = literal(text)[:-1]
    assert allowed(judge, f"{url}:8080/")
    assert refusal(judge, f"{url}:8443/").code == "blocked_address"
    assert refusal(judge, "http://example.com:8443/", text).code == "blocked_address"
    assert refusal(judge, "http://example.com:8443/", PUBLIC, text).code == "blocked_address"
    assert allowed(judge, "http://example.com:8443/", PUBLIC)


def test_the_ports_of_jupyter_in_another_form() -> None:
    judge = guard(ports=[8443], allow_private_networks=["0.0.0.0/0", "::/0"], allow_nat64=["::ffff:0:0/96"])
    assert allowed(judge, "http://[::ffff:127.0.0.1]:8080/")
    assert not allowed(judge, "http://[::ffff:127.0.0.1]:8443/")


# ---------------------------------------------------------------- ports


@pytest.mark.parametrize("port", [80, 443, 8080, 8443])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_default_ports(scheme: str, port: int) -> None:
    assert allowed(guard(), f"{scheme}://example.com:{port}/")


@pytest.mark.parametrize("port", [0, 1, 22, 81, 444, 3306, 6379, 8000, 8888, 9222, 65535])
def test_other_ports(port: int) -> None:
    error = refusal(guard(), f"http://example.com:{port}/")
    assert (error.code, error.setting) == ("blocked_port", "" if port in BAD_PORTS else "WebPolicy.allowed_ports")


@pytest.mark.parametrize("port", [22, 81, 8888, 65535])
@pytest.mark.parametrize("row", RANGES, ids=lambda row: row["cidr"])
def test_an_address_is_refused_for_itself_whatever_its_port(row: dict[str, str], port: int) -> None:
    for text in first_second_last(row):
        error = refusal(guard(), f"{literal(text)[:-1]}:{port}/")
        assert (error.code, "port" in error.message) == ("blocked_address", False)


@pytest.mark.parametrize(
    "host", [PUBLIC, "[2606:2800:220:1:248:1893:25c8:1946]", "example.com", "localhost", "a.local"]
)
def test_the_port_of_any_other_host_is_refused_for_itself(host: str) -> None:
    assert refusal(guard(), f"http://{host}:8888/").code == "blocked_port"


def test_a_setting_adds_ports_but_no_bad_one() -> None:
    assert allowed(guard(allowed_ports=[8000]), "http://example.com:8000/")
    assert not allowed(guard(allowed_ports=[8000]), "http://example.com/")
    policy = WebPolicy()
    policy._trait_values["allowed_ports"] = [22, 80]  # past its validation
    assert not allowed(Guard(policy), "http://example.com:22/")


# ---------------------------------------------------------------- allow_nat64


@pytest.mark.parametrize("prefix", ["64:ff9b::/96", "2001:67c:2b0:db32:0:1::/96", "::ffff:0:0/96", "fd00:64::/96"])
def test_nat64_is_judged_by_what_it_carries(prefix: str) -> None:
    network = ip_network(prefix)
    judge = guard(allow_nat64=[prefix])

    def inside(text: str) -> str:
        return str(IPv6Address(int(network.network_address) | int(IPv4Address(text))))

    assert allowed(judge, "http://example.com/", inside(PUBLIC))
    for text in ("10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.1.1", "0.0.0.0"):
        assert not allowed(judge, "http://example.com/", inside(text))
    assert allowed(
        guard(allow_nat64=[prefix], allow_private_networks=["10.0.0.0/8"]), "http://e.com/", inside("10.0.0.1")
    )
    assert not allowed(guard(allow_nat64=[prefix], own=[OWN]), "http://e.com/", inside(OWN))
    assert not allowed(guard(allow_nat64=[prefix], extra_blocked=[PUBLIC]), "http://e.com/", inside(PUBLIC))


# ---------------------------------------------------------------- extra_blocked


def test_extra_blocked_wins_over_every_allow() -> None:
    judge = guard(
        extra_blocked=["10.20.5.0/24", PUBLIC, "2606:4700::/32", "bad.example.com", "*.evil.org", "*.Bücher.de"],
        allow_private_networks=["10.20.0.0/16", "2606:4700::/32"],
    )
    for text in ("10.20.5.1", PUBLIC, "2606:4700:4700::1111"):
        error = refusal(judge, literal(text))
        assert (error.code, error.setting) == ("blocked_address", "WebPolicy.extra_blocked")
        assert not allowed(judge, "http://example.com/", text)
    assert allowed(judge, literal("10.20.6.1"))
    for host in ("bad.example.com", "BAD.example.com.", "evil.org", "a.evil.org", "a.b.EVIL.org", "x.bücher.de"):
        error = refusal(judge, f"https://{host}/")
        assert (error.code, error.setting) == ("blocked_host", "WebPolicy.extra_blocked")
    for host in ("example.com", "worse.bad.example.com", "notevil.org", "evil.org.example.com"):
        assert judge.check_url(f"https://{host}/")


# ---------------------------------------------------------------- what it says


@pytest.mark.parametrize("entry", ["93.184.216.34", "93.184.216.32/28", "::ffff:93.184.216.34", "::ffff:5db8:d800/120"])
def test_a_blocked_network_may_be_written_in_ipv4_mapped_form(entry: str) -> None:
    judge = guard(extra_blocked=[entry], allow_private_networks=["::/0", "0.0.0.0/0"], allow_nat64=["64:ff9b::/96"])
    for text in ("93.184.216.34", "::ffff:5db8:d822", "64:ff9b::5db8:d822", "2002:5db8:d822::1"):
        assert refusal(judge, literal(text)).code == "blocked_address"
        assert refusal(judge, "http://example.com/", text).code == "blocked_address"
    assert allowed(judge, "http://93.184.217.34/")
    assert allowed(judge, "http://[2606:4700::1]/")


@pytest.mark.parametrize("cidr", ["198.18.0.0/15", "100.64.0.0/10"])
def test_ranges_of_vpns_are_named_with_their_remedy(cidr: str) -> None:
    network = ip_network(cidr)
    inside = str(network[9])
    for error in (refusal(guard(), literal(inside)), refusal(guard(), "http://example.com/", inside, str(network[5]))):
        assert cidr in error.message
        assert f"--WebPolicy.allow_private_networks=['{cidr}']" in error.message
    judge = guard(allow_private_networks=[cidr])
    assert allowed(judge, "http://example.com/", inside)


def test_no_remedy_is_named_that_would_not_help() -> None:
    for judge, text in ((guard(), "100.100.100.200"), (guard(extra_blocked=["198.18.0.0/16"]), "198.18.0.9")):
        assert "allow_private_networks" not in refusal(judge, literal(text)).message
        assert "allow_private_networks" not in refusal(judge, "http://example.com/", text).message


HIDDEN = (
    *(["10.0.0.1"], ["127.0.0.1"], ["169.254.169.254"], ["::1"], [OWN], ["1.1.1.1"], ["fe80::1%2"], ["junk"]),
    *(["100.64.0.1", "10.0.0.1"], [PUBLIC, "10.0.0.1"]),
)


def test_no_other_refusal_tells_what_a_name_resolves_to() -> None:
    messages = {
        refusal(guard(own=[OWN], extra_blocked=["1.1.1.0/24"]), "http://example.com/", *answers).message
        for answers in HIDDEN
    }
    assert messages == {"example.com does not resolve to public addresses only"}


def test_verdict_is_the_decision_as_data() -> None:
    judge = guard()
    for line in (CASES / "ok_urls.txt").read_text("utf-8").splitlines():
        url = line.split("\t")[0]
        assert judge.verdict(url).to_json() | {"reason": ""} == {
            "url": url, "verdict": "allowed", "code": "ok", "reason": "",
        }  # fmt: skip
    for line in (CASES / "ssrf_urls_ctrl.jsonl").read_text("utf-8").splitlines():
        verdict = judge.verdict(json.loads(line)["url"])
        assert (verdict.verdict, verdict.code) == ("refused", "invalid_url")
    assert judge.verdict("http://10.0.0.1/").code == "blocked_address"
    assert judge.verdict("https://xn--fa-hia.de/").code == judge.verdict("https://faß.de/").code == "ok"
    assert "xn--fa-hia.de" in judge.verdict("https://faß.de/").reason
