"""Changes that a command makes to a user's settings: in the JSON file, which Jupyter leaves to programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jupyter_webresearch.config_sources import FILE_NAME
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.replaced_file import replace_file

__all__ = ["change_list", "users_file"]


def users_file() -> Path:
    """Return the JSON file of this user's config folder."""
    from jupyter_core.paths import jupyter_config_dir

    return Path(jupyter_config_dir()) / f"{FILE_NAME}.json"


def change_list(path: Path, setting: str, change: Callable[[list[str]], list[str]], start: Sequence[str] = ()) -> None:
    """Change one list; all else in the file stays. Nothing is written where nothing changes.

    Parameters
    ----------
    path
        Of the JSON file, which need not be there.
    setting
        ``Class.trait``.
    change
        Returns the list as it is to be.
    start
        The list where the file has none.

    Raises
    ------
    Failed
        ``config`` when the file can't be read or written.
    """
    path = path.resolve()  # a link stays one
    data = _read(path)
    cls, trait = setting.split(".")
    section = data.setdefault(cls, {})
    if not isinstance(section, dict) or not isinstance(section.get(trait, []), list):
        raise Failed("config", f"file {path}: {setting} is no list")
    before = section.get(trait)
    after = change(list(start if before is None else before))
    if after == (before or []):
        return
    section[trait] = after
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        replace_file(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n", mode)
    except OSError as error:
        raise Failed("config", f"file {path} can't be written: {error.strerror}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Failed("config", f"file {path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise Failed("config", f"file {path} is no JSON; correct it first") from error
    if not isinstance(data, dict):
        raise Failed("config", f"file {path} holds no settings by class; correct it first")
    return data
