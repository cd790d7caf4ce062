"""What docs/searxng.md shows can be read by what it is for, and says what our provider asks for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

PAGE = (Path(__file__).parent.parent / "docs" / "searxng.md").read_text("utf-8")
SETTINGS, COMPOSE = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))


def test_the_settings_let_us_read_json_without_a_limit() -> None:
    assert SETTINGS["use_default_settings"] is True
    assert SETTINGS["search"]["formats"] == ["html", "json"]
    assert SETTINGS["server"]["limiter"] is False
    assert SETTINGS["outgoing"]["max_request_timeout"] < 15, "it has to answer within our own time"


def test_nothing_listens_beyond_this_machine_and_no_two_share_a_network() -> None:
    services: dict[str, dict[str, Any]] = COMPOSE["services"]
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert service["cap_drop"] == ["ALL"]
        assert not service.get("privileged")
    networks = [network for service in services.values() for network in service["networks"]]
    assert len(networks) == len(set(networks))
    assert set(networks) == set(COMPOSE["networks"])
    assert services["searxng"]["ports"] == ["127.0.0.1:8889:8080"]


def test_the_address_it_names_is_the_one_that_compose_opens() -> None:
    assert "SEARXNG_URL=http://127.0.0.1:8889" in PAGE
