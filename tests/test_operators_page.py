"""What docs/operators.md shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from jupyter_webresearch.config_loading import explain, load_settings
from jupyter_webresearch.policy.addresses import blocked_range, parse_address

PAGE = (Path(__file__).parent.parent / "docs" / "operators.md").read_text("utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_worked_file_loads_and_binds_whatever_a_user_says(tmp_path: Path) -> None:
    operator, user = tmp_path / "etc", tmp_path / "home"
    for folder in (operator, user):
        folder.mkdir()
    (operator / "jupyter_webresearch_config.py").write_text(block("python"))
    (user / "jupyter_webresearch_config.py").write_text(
        "c = get_config()\n"
        "c.WebPolicy.ceiling = ['internet:unrestricted']\n"
        "c.WebPolicy.disabled_operations = []\n"
        "c.WebPolicy.robots = 'off'\n"
        "c.WebPolicy.write_methods = 'reading'\n"
        "c.WebPolicy.credentials = {}\n"
        "c.WebBudgets.kernel_total = 0\n"
        "c.WebBudgets.site_per_minute = 1000\n"
        "c.WebBudgets.storage = 'memory://'\n"
        "c.WebJournal.required = False\n"
        "c.WebKernel.local_mode = 'allow'\n"
    )
    paths: dict[str, Any] = {"config_path": [str(user), str(operator)], "operator_path": [str(operator)], "environ": {}}
    settings = load_settings(**paths)
    assert settings.policy.ceiling == ["*.wikipedia.org", "*.arxiv.org", "api.crossref.org", "data.example.edu"]
    assert settings.policy.acting_ceiling == []
    assert settings.policy.disabled_operations == ["browser"]
    assert settings.policy.robots == "full"
    assert settings.policy.write_methods == "acting"
    assert settings.policy.credentials["data.example.edu"]["name"] == "data-api"
    assert settings.budgets.kernel_total == 300
    assert settings.budgets.site_per_minute == 30
    assert settings.budgets.storage.startswith("redis://")
    assert settings.journal.required is True
    assert settings.kernel.local_mode == "deny"
    bound = {setting.name for setting in explain(**paths) if setting.narrowed_by}
    assert {"WebPolicy.ceiling", "WebBudgets.kernel_total", "WebKernel.local_mode"} <= bound


def test_the_network_policy_leaves_out_no_private_range() -> None:
    policy = yaml.safe_load(block("yaml"))
    assert policy["kind"] == "NetworkPolicy"
    (block_,) = [to["ipBlock"] for rule in policy["spec"]["egress"] for to in rule["to"] if "ipBlock" in to]
    for cidr in block_["except"]:
        address = parse_address(cidr.partition("/")[0])
        assert address is not None
        assert blocked_range(address) is not None, cidr


def test_every_setting_it_names_exists() -> None:
    known = {setting.name for setting in explain(environ={}, config_path=[], operator_path=[])}
    named = set(re.findall(r"\b(Web(?:Policy|Budgets|Journal|Kernel|Fetch|Classifier)\.\w+)", PAGE))
    assert named
    assert named <= known | {"WebBudgets.storage"}
