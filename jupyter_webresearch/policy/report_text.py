"""The policy of a session in words: in parts, for whoever lays them out, and as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_webresearch.extraction.sanitise import one_line

__all__ = ["BudgetLine", "ListPart", "budget_lines", "fact_lines", "list_parts", "policy_text"]

ROBOTS = {
    "named": "obeyed where it names us (named)",
    "full": "obeyed as a crawler does (full)",
    "off": "not asked (off)",
}


@dataclass(frozen=True)
class ListPart:
    """One list of hosts.

    Attributes
    ----------
    title
        Whose it is, and what for.
    reach
        All that it covers, in a line.
    entries
        Each entry, and what it covers or why it covers nothing.
    """

    title: str
    reach: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class BudgetLine:
    """One budget.

    Attributes
    ----------
    setting
        Its name.
    counts
        What is counted.
    used
        How much of how much; only how much, where that is counted for many apart.
    again
        When there is room again, if there is none now.
    """

    setting: str
    counts: str
    used: str
    again: str = ""


def policy_text(report: Mapping[str, Any]) -> str:
    """Return both lists, what each entry covers, what was dropped and why, and what else bounds a session.

    Parameters
    ----------
    report
        What :meth:`jupyter_webresearch.policy.lists.Lists.report` returned, or that with what an engine adds:
        ``operations``, ``robots``, ``budgets`` and so on.
    """
    return "\n".join(_lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    for part in list_parts(report):
        yield f"{part.title}: {part.reach}"
        yield from (f"  {entry}: {covers}" for entry, covers in part.entries)
    yield from (f"{name}: {value}" for name, value in fact_lines(report))
    yield from (
        f"Budget {line.setting}: {line.used} {line.counts}" + f"; {line.again}" * bool(line.again)
        for line in budget_lines(report)
    )


def list_parts(report: Mapping[str, Any]) -> list[ListPart]:
    """Return the lists of a report, the operator's and the session's."""
    ceiling, ask, acting, notebook = (report[name] for name in ("ceiling", "ask", "acting", "notebook"))
    denied = tuple((host, "denied in this session") for host in ask["denied"])
    parts = [
        _part("Operator's list of hosts to read (WebPolicy.ceiling)", ceiling, unset="not set"),
        _part("This session reads", ask, unset=f"asked for none; WebPolicy.ask is {ask['rule']}", more=denied),
        _part("Operator's list of hosts to act on (WebPolicy.acting_ceiling)", acting["ceiling"], unset="not set"),
        _part("This session acts on", acting, unset="asked for none"),
    ]
    if notebook["is_set"]:
        says = "names, but this session asked for others" if notebook["replaced"] else "keeps to"
        parts.insert(2, _part(f"This notebook's metadata {says}", notebook, unset=""))
    return parts


def _part(title: str, part: Mapping[str, Any], *, unset: str, more: tuple[tuple[str, str], ...] = ()) -> ListPart:
    entries = [(row["entry"], row["covers"]) for row in part["entries"]]
    dropped = [(one_line(row["entry"], 200), f"dropped, {row['reason']}") for row in part["dropped"]]
    reach = part["reach"] if part["is_set"] else f"{part['reach']} ({unset})"
    return ListPart(title, reach, (*entries, *dropped, *more))


def fact_lines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what else a report says, the budgets apart: what it is about, and what holds of it."""
    return [(name, one_line(value, 2000)) for name, value in (*_of_session(report), *_of_engine(report)) if value]


def _of_session(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    notebook = report["notebook"]
    if "search" in report.get("operations", ("search",)):
        yield "Search", "on" if report["search"] else "off"
        if notebook["search"] is False and report["search"]:
            yield "In this notebook's metadata, search", "off, but this session switched it on"
    for row in notebook["faults"]:
        yield f"In this notebook's metadata, {one_line(row['entry'], 200)}", row["reason"]
    yield "Task", one_line(report["task"], 200) or "none is stated"


def _of_engine(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "operations" in report:
        none = f"none; {report['nothing_read']}" if "nothing_read" in report else "all are switched off"
        yield "Operations", ", ".join(report["operations"]) or none
    if "write_methods" in report:
        yield "Writes (POST and the like) from cells go by", f"the {report['write_methods']} list"
    if "robots" in report:
        yield "robots.txt", ROBOTS.get(report["robots"], str(report["robots"]))
    yield (
        "Open besides the public internet (WebPolicy.allow_private_networks)",
        _named(report, "allow_private_networks"),
    )
    if "allowed_ports" in report:
        yield "Ports (WebPolicy.allowed_ports)", _named(report, "allowed_ports") or "none"
    yield "Blocked besides (WebPolicy.extra_blocked)", _named(report, "extra_blocked")
    for host, name in report.get("credentials", {}).items():
        yield f"Credential for {host}", f"credential:{name}"
    if report.get("dollars_spent"):
        yield "Dollars spent by this session", f"{report['dollars_spent']:g}"
    yield "Budgets can't be told", report.get("budgets_fault", "")
    yield "Nothing is on record", report.get("journal_fault", "")


def _named(report: Mapping[str, Any], name: str) -> str:
    return ", ".join(map(str, report.get(name, ())))


def budget_lines(report: Mapping[str, Any]) -> list[BudgetLine]:
    """Return the budgets of a report; that of single sites, of which there are many, without what is used."""
    lines = [
        BudgetLine(row["name"], row["counts"], f"{row['used']:,g} of {row['size']:,g}", _again(row))
        for row in report.get("budgets", ())
    ]
    if report.get("site_per_minute"):
        counts = "requests of all kernels to each site in a minute"
        lines.append(BudgetLine("WebBudgets.site_per_minute", counts, f"at most {report['site_per_minute']:,}"))
    return lines


def _again(row: Mapping[str, Any]) -> str:
    if row["used"] < row["size"]:
        return ""
    return "used up" if row.get("frees_in") is None else f"room again in {row['frees_in']:.0f} s"
