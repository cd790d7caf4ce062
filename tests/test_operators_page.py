"""What docs/operators.md shows works as it stands there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from ipaddress import IPv4Network, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from traitlets import Bool, TraitType

from jupyter_webresearch.config import CONFIGURABLES, environment_name, settings_of
from jupyter_webresearch.config_loading import Explained, explain, load_settings
from jupyter_webresearch.policy.addresses import BLOCKED

PAGE = (Path(__file__).parent.parent / "docs" / "operators.md").read_text("utf-8")

BINDING: dict[str, TraitType[Any, Any]] = {
    f"{cls.__name__}.{name}": trait
    for cls in CONFIGURABLES
    for name, trait in settings_of(cls).items()
    if "narrows" in trait.metadata
}
CHOSEN_BY_A_USER: dict[str, Any] = {
    "WebPolicy.credentials": {"elsewhere.example": {"source": "env:MINE"}},
    "WebPolicy.source_ipv4": "127.0.0.2",
    "WebPolicy.source_ipv6": "::1",
    "WebPolicy.upstream_proxy": "http://proxy.elsewhere.example:3128",
    "WebPolicy.upstream_proxy_credentials": "env:MINE",
    "WebPolicy.ca_bundle": "/home/user/authorities.pem",
    "WebFetch.agent": "Mine",
    "WebFetch.agent_url": "https://elsewhere.example/",
    "WebFetch.contact": "me@elsewhere.example",
    "WebBudgets.price_per_search": {"brave": 0.0},
    "WebBudgets.storage": "redis://elsewhere.example/0",
    "WebClassifier.url": "https://elsewhere.example/v1",
    "WebClassifier.model": "mine",
    "WebClassifier.key": "env:MINE",
    "WebSearch.backend": "brave",
    "WebSearch.search_backend": "brave",
    "WebSearch.extract_backend": "brave",
    "WebSearch.default_providers": ["brave"],
    "WebSearch.enabled_plugins": ["mine"],
    "WebSearch.keys": {"brave": "env:MINE"},
}
"""Of settings whose form says not what is wide: something other than the operator's."""


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def widest(name: str) -> Any:
    """Return a value that a user who wants more would choose."""
    trait = BINDING[name]
    if name in CHOSEN_BY_A_USER:
        return CHOSEN_BY_A_USER[name]
    match trait.metadata["narrows"]:
        case "networks":
            return ["64:ff9b::/96"] if name == "WebPolicy.allow_nat64" else ["0.0.0.0/0", "::/0"]
        case "intersection":
            return [80, 443, 8080, 8443, 9000]
        case "hosts":
            return ["internet:unrestricted"]
        case "acting hosts":
            return ["app.example.com"]
        case "strictest":
            return trait.metadata["choices"][0]
        case "union":
            return []
        case "all":
            return True
        case "any":
            return False
        case "least":
            return 0
        case "lowest":
            return trait.metadata["range"][1]
        case "operator" if isinstance(trait, Bool):
            return not trait.default()
        case "operator" if "range" in trait.metadata:
            return trait.metadata["range"][0]
        case kind:
            raise AssertionError(f"{name} ({kind}): what would a user choose?")


def both(tmp_path: Path, user: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> dict[str, Explained]:
    operator, home = tmp_path / "etc", tmp_path / "home"
    for folder in (operator, home):
        folder.mkdir(exist_ok=True)
    (operator / "jupyter_webresearch_config.py").write_text(block("python"))
    lines = ["c = get_config()", *(f"c.{name} = {value!r}" for name, value in user.items())]
    (home / "jupyter_webresearch_config.py").write_text("\n".join(lines))
    found = explain(environ=environ or {}, config_path=[str(home), str(operator)], operator_path=[str(operator)])
    return {setting.name: setting for setting in found}


def set_by_the_file() -> set[str]:
    return set(re.findall(r"^c\.(\w+\.\w+) = ", block("python"), re.MULTILINE))


def left_to_users() -> set[str]:
    (passage,) = re.findall(r"^Left to users are,.*?\n\n(.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"`(\w+\.\w+)`", passage))


def test_the_worked_file_loads_and_says_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "jupyter_webresearch_config.py").write_text(block("python"))
    settings = load_settings(environ={}, config_path=[str(tmp_path)], operator_path=[str(tmp_path)])
    assert settings.policy.ceiling == ["*.wikipedia.org", "*.arxiv.org", "api.crossref.org", "data.example.edu"]
    assert settings.policy.acting_ceiling == []
    assert settings.policy.allow_private_networks == []
    assert settings.policy.allowed_ports == [80, 443]
    assert settings.policy.credentials["data.example.edu"]["name"] == "data-api"
    assert settings.budgets.storage.startswith("redis://")
    assert settings.journal.required is True
    assert settings.kernel.local_mode == "deny"


def test_every_binding_setting_is_in_the_file_or_named_as_left_to_users() -> None:
    assert "**A setting that your file leaves out is the user's**" in PAGE
    assert set_by_the_file() | left_to_users() == set(BINDING)
    assert set_by_the_file() & left_to_users() == set()


@pytest.mark.parametrize("name", sorted(BINDING))
def test_what_a_user_sets_widens_nothing_that_the_file_sets(tmp_path: Path, name: str) -> None:
    alone, wish = both(tmp_path, {}), widest(name)
    text = wish if isinstance(wish, str) else json.dumps(wish)
    variable = environment_name(alone[name].cls, alone[name].trait)
    tried = [both(tmp_path, {name: wish}), both(tmp_path, {}, {variable: text})]
    for found in tried:
        assert {each: found[each].value for each in found if each != name} == {
            each: alone[each].value for each in alone if each != name
        }
    taken = [found[name].value for found in tried]
    if name in left_to_users():
        assert taken == [wish] * 2
    else:
        assert taken == [alone[name].value] * 2


def test_all_of_a_users_wishes_together_widen_nothing(tmp_path: Path) -> None:
    alone = both(tmp_path, {})
    found = both(tmp_path, {name: widest(name) for name in BINDING})
    for name in set_by_the_file():
        assert found[name].value == alone[name].value, name
    bound = {name for name, setting in found.items() if setting.narrowed_by}
    assert {"WebPolicy.ceiling", "WebPolicy.allow_private_networks", "WebPolicy.upstream_proxy"} <= bound


def network_policies() -> dict[str, Any]:
    return {policy["metadata"]["name"]: policy for policy in yaml.safe_load_all(block("yaml"))}


def test_the_network_policy_leaves_out_every_range_that_is_not_public_and_no_other() -> None:
    policy = network_policies()["singleuser-web-research"]
    (block_,) = [to["ipBlock"] for rule in policy["spec"]["egress"] for to in rule["to"] if "ipBlock" in to]
    blocked = {row.cidr for row in BLOCKED if isinstance(ip_network(row.cidr), IPv4Network)}
    assert set(block_["except"]) == blocked
    assert len(block_["except"]) == len(blocked)


def test_the_pods_that_may_reach_redis_are_the_ones_that_ask_it() -> None:
    asking, asked = network_policies()["singleuser-web-research"], network_policies()["web-research-redis"]
    assert asking["metadata"]["namespace"] == asked["metadata"]["namespace"] == "hub"
    ports = [{"protocol": "TCP", "port": 6379}]
    (to,) = [rule["to"] for rule in asking["spec"]["egress"] if rule["ports"] == ports]
    assert to == [{"podSelector": asked["spec"]["podSelector"]}]
    assert asked["spec"]["ingress"] == [{"from": [{"podSelector": asking["spec"]["podSelector"]}], "ports": ports}]
    labels = asked["spec"]["podSelector"]["matchLabels"]
    assert [f"`{name}: {value}`" in PAGE for name, value in labels.items()] == [True]
    assert "redis://redis.hub.svc" in block("python")


def test_every_setting_it_names_exists() -> None:
    classes = "|".join(cls.__name__ for cls in CONFIGURABLES)
    named = set(re.findall(rf"\b((?:{classes})\.\w+)", PAGE))
    assert named
    assert named <= {f"{cls.__name__}.{name}" for cls in CONFIGURABLES for name in settings_of(cls)}
