"""The magics in a real kernel: run with nobody watching, and interrupted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.sites import Site


@pytest.fixture
def alone(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders without a server, whose settings let the site on loopback be read."""
    for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        monkeypatch.setenv(f"JUPYTER_{name}", str(tmp_path / name))
    for name in ("JUPYTER_WEBRESEARCH_URL", "JUPYTERHUB_SERVICE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOWED_PORTS", str(site.port))
    return tmp_path


def execute(folder: Path, *cells: str) -> tuple[list[Any], CellExecutionError | None]:
    """Run cells as nbclient does; return the outputs of each and the error that stopped the run."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    error = None
    try:
        client.execute()
    except CellExecutionError as stopped:
        error = stopped
    return [cell.outputs for cell in notebook.cells], error


def test_a_run_with_nobody_watching_leaves_only_results(alone: Path, site: Site) -> None:
    outputs, error = execute(
        alone,
        "%load_ext jupyter_webresearch",
        f"%webfetch {site.url('/article')}",
        f"page = %webfetch {site.url('/article')}?",
        f"%webfetch {site.url('/json')};",
        f"%%webfetch\n{site.url('/article')}\n{site.url('/csv')}",
        "page.show()",
        f"%webfetch http://10.0.0.1:{site.port}/",
        "reached = True",
    )
    kinds = [[output.output_type for output in cell] for cell in outputs]
    assert kinds == [[], ["execute_result"], [], [], ["execute_result"], ["display_data"], ["error"], []]
    assert set(outputs[1][0].data) == {"text/markdown", "text/plain"}
    assert error is not None
    failure = outputs[6][0]
    assert (failure.ename, len(failure.traceback)) == ("Refused", 1)
    assert "[blocked_address]" in failure.traceback[0]


async def test_an_interrupt_ends_the_magic_and_not_the_kernel(alone: Path, site: Site) -> None:
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel(cwd=str(alone))
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=60)
        loaded = await client.execute_interactive("%load_ext jupyter_webresearch", timeout=60)
        assert loaded["content"]["status"] == "ok"
        running = client.execute(f"page = %webfetch {site.url('/gate')}")
        assert site._loop is not None
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(site.arrived("/gate"), site._loop))
        await manager.interrupt_kernel()
        reply = await client.get_shell_msg(timeout=30)
        while reply["parent_header"]["msg_id"] != running:
            reply = await client.get_shell_msg(timeout=30)
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert reply["content"]["traceback"] == ["Interrupted: the reading was interrupted [cancelled]"]
        # The same process goes on reading.
        again = await client.execute_interactive(f"page = %webfetch {site.url('/article')}", timeout=60)
        assert again["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
