"""Where a kernel may not read by itself and has no server: what can be told all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_webresearch.config import Settings, WebKernel, WebPolicy
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.journal.private import journal_folder
from jupyter_webresearch.kernel.discovering_client import DiscoveringClient
from jupyter_webresearch.kernel.own_notebook import OwnNotebook
from jupyter_webresearch.policy.policy_change import PolicyChange
from jupyter_webresearch.policy.report_text import policy_text
from tests.journal.writing import event, write


def test_where_nothing_is_read_policy_and_journal_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    settings = Settings(kernel=WebKernel(local_mode="deny"), policy=WebPolicy(ceiling=["a.example"]))
    client = DiscoveringClient(settings, environ={})
    report = client.policy()
    assert (report["ceiling"]["reach"], report["operations"]) == ("a.example", [])
    assert "Operations: none; no Jupyter server with Web Research knows this kernel" in policy_text(report)
    with pytest.raises(Refused):
        client.change_policy(PolicyChange(allow=("a.example",)))
    assert client.events() == []
    write(journal_folder(), event("a", kernel="this"), event("b", kernel="another"), event("c", kernel="this"))
    assert client.events() == []  # it is no kernel
    monkeypatch.setattr(OwnNotebook, "kernel", "this")
    assert [each["operation"] for each in client.events()] == ["a", "c"]
    assert [each["operation"] for each in client.events(limit=1)] == ["c"]
