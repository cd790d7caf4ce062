"""A real JupyterLab on loopback, in folders of its own."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType


class Lab:
    """JupyterLab in a process of its own.

    Parameters
    ----------
    folder
        Holds its settings, runtime files, notebooks and log.
    ports
        Loopback ports that the operator's file lets be read.
    """

    def __init__(self, folder: Path, ports: list[int]) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        self.url = ""
        config = folder / "config"
        config.mkdir(parents=True)
        (config / "jupyter_webresearch_config.py").write_text(
            f"c.WebPolicy.allow_private_networks = ['127.0.0.0/8']\nc.WebPolicy.allowed_ports = [80, 443, *{ports}]\n"
        )
        # JupyterLab asks in a corner whether it may fetch news; that would stand in the pictures.
        asked = folder / "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
        asked.parent.mkdir(parents=True)
        asked.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir()

    def notebook(self, name: str, cells: list[str]) -> Path:
        """Write a notebook of code cells; a cell that begins with ``#md`` is Markdown."""
        path = self.notebooks / name
        path.write_text(
            json.dumps(
                {
                    "nbformat": 4,
                    "nbformat_minor": 5,
                    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
                    "cells": [_cell(number, source) for number, source in enumerate(cells)],
                }
            )
        )
        return path

    def page(self, notebook: str) -> str:
        """Return the URL that opens a notebook."""
        return f"{self.url}lab/tree/{notebook}?token={self.token}&reset"

    def __enter__(self) -> Lab:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "PYTEST"))}
        environment = {
            **kept,
            "HOME": str(self.folder),
            "JUPYTER_CONFIG_DIR": str(self.folder / "config"),
            "JUPYTER_DATA_DIR": str(self.folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.folder / "runtime"),
            "IPYTHONDIR": str(self.folder / "ipython"),
            "PYTHONWARNINGS": "default",
        }
        self._log = (self.folder / "lab.log").open("wb")
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port=0", f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.notebooks}",
            "--LabApp.expose_app_in_browser=True",
            f"--LabApp.user_settings_dir={self.folder / 'settings'}",
            f"--LabApp.workspaces_dir={self.folder / 'spaces'}",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd=self.notebooks,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.url = self._listening()
        return self

    def _listening(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            for file in (self.folder / "runtime").glob("jpserver-*.json"):
                try:
                    url = str(json.loads(file.read_text())["url"]).replace("localhost", "127.0.0.1")
                    urllib.request.urlopen(f"{url}api/status?token={self.token}", timeout=5).close()
                except (OSError, ValueError, urllib.error.URLError):
                    continue
                return url
            time.sleep(0.1)  # a process of its own tells of its port by a file only
        raise AssertionError((self.folder / "lab.log").read_text())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def _cell(number: int, source: str) -> dict[str, object]:
    if source.startswith("#md"):
        return {"cell_type": "markdown", "id": f"c{number}", "metadata": {}, "source": source[3:].strip()}
    return {
        "cell_type": "code",
        "id": f"c{number}",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }
