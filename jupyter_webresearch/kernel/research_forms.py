"""What ``%webresearch`` shows, as Markdown that is inert and as plain text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.cell_markdown import as_table
from jupyter_webresearch.kernel.heading import heading
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, entities, literal
from jupyter_webresearch.kernel.research_subcommands import ABOUT, MAGIC, SUBCOMMANDS, offered
from jupyter_webresearch.policy.report_text import budget_lines, fact_lines, list_parts, policy_text
from jupyter_webresearch.surfaces import magics_of

__all__ = ["budgets_forms", "help_forms", "policy_forms"]

LEVEL = 4  # a notebook's own headings are rarely below 3


def policy_forms(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the forms of a policy.

    Parameters
    ----------
    report
        As :meth:`jupyter_webresearch.kernel.client.Client.policy` returns it.

    Returns
    -------
    dict
        ``text/markdown`` and ``text/plain``.
    """
    hosts = []
    for part in list_parts(report):
        hosts.append([part.title, part.reach, ""])
        hosts += [["", entry, covers] for entry, covers in part.entries]
    parts = [
        heading("Hosts", LEVEL),
        as_table(["list", "hosts", "what an entry covers"], hosts),
        heading("What else holds", LEVEL),
        as_table(["", ""], [list(fact) for fact in fact_lines(report)]),
        heading("Budgets", LEVEL),
        _budgets_table(report),
    ]
    return _forms(parts, policy_text(report))


def budgets_forms(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the forms of the budgets of a policy, as :func:`policy_forms` does of all of it."""
    spent = f"spent by this session: {report['dollars_spent']:g} dollars" if report["dollars_spent"] else ""
    plain = [f"{line.setting}: {line.used} {line.counts}" + f"; {line.again}" * bool(line.again)
             for line in budget_lines(report)]  # fmt: skip
    fault = one_line(report.get("budgets_fault", ""), 500)
    return _forms(
        [_budgets_table(report), *map(literal, filter(None, [fault, spent]))],
        "\n".join(filter(None, [*(plain or ["no budget is set"] * (not fault)), fault, spent])),
    )


def _budgets_table(report: Mapping[str, Any]) -> str:
    lines = budget_lines(report)
    if not lines:
        return "" if report.get("budgets_fault") else "no budget is set"
    rows = [[line.setting, line.used, line.counts, line.again] for line in lines]
    return as_table(["budget", "used", "of what", ""], rows)


def help_forms(operations: Collection[str]) -> dict[str, str]:
    """Return the forms of the help: nothing that is switched off is in it.

    Parameters
    ----------
    operations
        Those that are on.
    """
    readers = [f"%{name} --help" for name in sorted(magics_of(operations))]
    shown = [SUBCOMMANDS[name] for name in offered(operations)]
    more = "Nothing here widens what the operator allows."
    rows = [f"| {_code(f'{MAGIC} {sub.usage}')} | {literal(sub.about)} |" for sub in shown]
    return _forms(
        [
            literal(ABOUT),
            "\n".join(["| | |", "| --- | --- |", *rows]),
            f"{_code(f'{MAGIC} SUBCOMMAND --help')} says more. {literal(more)}",
            f"What reads the web: {', '.join(map(_code, readers))}." if readers else "Reading the web is switched off.",
        ],
        "\n".join(
            [
                ABOUT,
                "",
                *(f"    {MAGIC} {sub.usage:<34} {sub.about}" for sub in shown),
                "",
                f"{MAGIC} SUBCOMMAND --help says more. {more}",
                f"What reads the web: {', '.join(readers)}." if readers else "Reading the web is switched off.",
            ]
        ),
    )


def _code(text: str) -> str:
    return f"<code>{entities(text)}</code>"


def _forms(parts: Collection[str], plain: str) -> dict[str, str]:
    inner = "\n\n".join(filter(None, parts))
    return {"text/markdown": f"{OPEN}\n\n{inner}\n\n{CLOSE}", "text/plain": plain}
