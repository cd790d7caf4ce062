"""The policy of a session as plain text, as magic and command line print it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_webresearch.extraction.sanitise import one_line

__all__ = ["policy_text"]


def policy_text(report: Mapping[str, Any]) -> str:
    """Return both lists, what each entry covers, and what was dropped and why.

    Parameters
    ----------
    report
        What :meth:`jupyter_webresearch.policy.lists.Lists.report` returned, or that with what an engine adds:
        ``operations``, ``robots``, ``budgets`` and ``credentials``.
    """
    return "\n".join(_lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    ceiling, ask, acting, notebook = (report[name] for name in ("ceiling", "ask", "acting", "notebook"))
    yield _heading("Operator's list of hosts to read (WebPolicy.ceiling)", ceiling, unset="not set")
    yield from _entries(ceiling)
    yield _heading("This session reads", ask, unset=f"asked for none; WebPolicy.ask is {ask['rule']}")
    yield from _entries(ask)
    yield from (f"  {host}: denied in this session" for host in ask["denied"])
    yield from _of_notebook(notebook)
    yield _heading("Operator's list of hosts to act on (WebPolicy.acting_ceiling)", acting["ceiling"], unset="not set")
    yield from _entries(acting["ceiling"])
    yield _heading("This session acts on", acting, unset="asked for none")
    yield from _entries(acting)
    if "search" in report.get("operations", ("search",)):
        yield f"Search: {'on' if report['search'] else 'off'}"
    yield f"Task: {one_line(report['task'], 200) or 'none is stated'}"
    yield from _of_engine(report)


def _heading(title: str, part: Mapping[str, Any], *, unset: str) -> str:
    return f"{title}: {part['reach']}" + ("" if part["is_set"] else f" ({unset})")


def _entries(part: Mapping[str, Any]) -> Iterator[str]:
    for row in part["entries"]:
        yield f"  {row['entry']}: {row['covers']}"
    for row in part["dropped"]:
        yield f"  {one_line(row['entry'], 200)}: dropped, {row['reason']}"


def _of_notebook(notebook: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the metadata says, where it says anything."""
    if notebook["is_set"]:
        yield f"This notebook's metadata keeps to: {notebook['reach']}"
        yield from _entries(notebook)
    if notebook["search"] is False:
        yield "This notebook's metadata switches search off"
    for row in notebook["faults"]:
        yield f"In this notebook's metadata, {one_line(row['entry'], 200)}: {row['reason']}"


def _of_engine(report: Mapping[str, Any]) -> Iterator[str]:
    if "operations" in report:
        yield f"Operations: {', '.join(report['operations']) or 'all are switched off'}"
    if "write_methods" in report:
        yield f"Writes (POST and the like) from cells go by: the {report['write_methods']} list"
    if "robots" in report:
        yield f"robots.txt: {one_line(str(report['robots']), 200)}"
    for row in report.get("budgets", ()):
        again = f", room again in {row['frees_in']:.0f} s" if row.get("frees_in") else ""
        yield f"Budget {row['name']}: {row['used']:g} of {row['size']:g}{again}"
    if report.get("budgets_fault"):
        yield f"Budgets can't be told: {one_line(report['budgets_fault'], 300)}"
    if report.get("dollars_spent"):
        yield f"Dollars spent by this session: {report['dollars_spent']:g}"
    for host, name in report.get("credentials", {}).items():
        yield f"Credential for {host}: credential:{name}"
