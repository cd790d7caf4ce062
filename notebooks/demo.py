"""Run the quickstart without a browser and print what it read."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent


def main() -> int:
    """Run every cell in order and print code and output as a reader would see them."""
    notebook = nbformat.read(FOLDER / "quickstart.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": FOLDER}})
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            print(f"\n{cell.source}\n")
            continue
        print("\n".join(f"    {line}" for line in cell.source.splitlines()), end="\n\n")
        for output in cell.outputs:
            print(_text(output))
    return 0


def _text(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return str(output.data.get("text/plain", ""))


if __name__ == "__main__":
    sys.exit(main())
