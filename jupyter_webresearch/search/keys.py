"""Where providers' keys and other variables come from: the settings, the environment, a file of ours.

No value stands in a repr, an error or a listing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.journal.private import exists_private
from jupyter_webresearch.replaced_file import replace_file
from jupyter_webresearch.search.builtin import About
from jupyter_webresearch.secrets_source import MAX_SECRET, read_secret

__all__ = ["FILE_NAME", "Found", "KeyFile", "Keys"]

FILE_NAME = "jupyter_webresearch_keys.json"
"""Of the file in Jupyter's config folder in which ``providers setup`` keeps keys."""

MOST = 256 * 1024  # bytes of that file

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Found:
    """The variables of one provider that are set.

    Attributes
    ----------
    values
        By name.
    faults
        Why those can't be read that the settings name.
    file_fault
        Why the file of keys can't be read, which matters only where something is missing.
    """

    values: Mapping[str, str] = field(repr=False)
    faults: tuple[str, ...] = ()
    file_fault: str = ""


class KeyFile:
    """The file of keys: JSON, of mode 0600.

    Parameters
    ----------
    path
        Where it is, or is to be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, str]:
        """Return what it holds, by variable; blocks.

        Raises
        ------
        Failed
            ``config`` when it can't be read, or others could have put something in its place.
        """
        try:
            if not exists_private(self.path):
                return {}
            data = self.path.read_bytes()
            said = json.loads(data) if len(data) <= MOST else None
        except PermissionError as error:
            raise Failed("config", f"the file of keys can't be used: {error.strerror or error}") from None
        except OSError as error:
            raise Failed("config", f"the file of keys can't be read: {error.strerror}") from None
        except ValueError:
            said = None
        if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
            raise Failed("config", f"{self.path.name} is no JSON object of texts; correct or remove it")
        return said

    def keep(self, values: Mapping[str, str]) -> None:
        """Add values, or replace them; blocks. What is there is never half written.

        Parameters
        ----------
        values
            By variable.

        Raises
        ------
        Failed
            ``config`` as of :meth:`read`, and when it can't be written.
        """
        written = json.dumps({**self.read(), **values}, indent=2, ensure_ascii=False)
        try:
            replace_file(self.path, written + "\n")
        except OSError as error:
            raise Failed("config", f"{self.path} can't be written: {error.strerror}") from None


class Keys:
    """Finds variables.

    Parameters
    ----------
    table
        ``WebSearch.keys``.
    environ
        The environment.
    file
        The file of keys.
    addresses
        The environment of those variables that name a base URL, whose address may be private: a notebook that changes
        its kernel's environment does not choose it.
    """

    def __init__(
        self,
        table: Mapping[str, str],
        environ: Mapping[str, str],
        file: KeyFile,
        *,
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        self._table = dict(table)
        self._environ = environ
        self._addresses = environ if addresses is None else addresses
        self._file = file

    def of(self, about: About) -> Found:
        """Return what is set of a provider's variables; blocks, on a disk or a keyring.

        Of variables that stand for the same thing only those of one source are returned: the settings, else the
        environment, else the file. What the settings name and can't be read is not replaced from elsewhere.

        Parameters
        ----------
        about
            Of the provider.
        """
        values: dict[str, str] = {}
        faults: list[str] = []
        kept, file_fault = self._kept()
        same: list[tuple[Sequence[str], Mapping[str, str]]] = [
            (about.keys, self._environ),
            (about.url_variables, self._addresses),
            *(((name,), self._environ) for name in (*about.also_needs, *about.options)),
        ]
        for names, environ in same:
            sources = {name: self._table[name] for name in names if name in self._table}
            if names is about.keys and names and about.name in self._table:
                sources.setdefault(names[0], self._table[about.name])
            if sources:
                for name, source in sources.items():
                    try:
                        values[name] = read_secret(source, self._environ)
                    except WebResearchError as error:
                        faults.append(f"{name} of WebSearch.keys: {error.message}")
                continue
            values |= _set(names, environ) or _set(names, kept)
        return Found(values, tuple(faults), file_fault)

    def _kept(self) -> tuple[dict[str, str], str]:
        try:
            return self._file.read(), ""
        except Failed as error:
            return {}, error.message


def _set(names: Sequence[str], values: Mapping[str, str]) -> dict[str, str]:
    """Return which of some variables are set to something that can be sent."""
    found = {name: values.get(name, "").strip() for name in names}
    return {
        name: value
        for name, value in found.items()
        if value and len(value) <= MAX_SECRET and not _CONTROL.search(value)
    }
