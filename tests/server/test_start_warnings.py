"""What a server's log says at the start of the hosts that may be read."""

from __future__ import annotations

import json
from pathlib import Path

from tests.server.running import JupyterFolders, ServerProcess, wait_until

HUB = {"JUPYTERHUB_API_URL": "http://127.0.0.1:9/hub/api"}
SETTINGS = {"WebPolicy": {"acting_ceiling": ["app.example.com", "*.example.com"]}}


def test_a_hubs_unset_ceiling_and_dropped_entries_are_named_in_the_log(tmp_path: Path) -> None:
    def prepare(folders: JupyterFolders) -> None:
        (folders.config / "jupyter_webresearch_config.json").write_text(json.dumps(SETTINGS))

    enabled = "--ServerApp.jpserver_extensions={'jupyter_webresearch': True}"
    with ServerProcess(tmp_path, enabled, "--ServerApp.port=0", environ=HUB, prepare=prepare) as server:
        wait_until(lambda: "is running at" in server.log or server.process.poll() is not None)
        assert server.process.poll() is None, server.log
        log = server.log
    assert "Web Research: WebPolicy.ceiling is not set: every notebook of this JupyterHub" in log
    assert "Web Research: WebPolicy.acting_ceiling: '*.example.com' covers nothing: a host where something" in log
    assert log.count("Web Research: ") == 2
