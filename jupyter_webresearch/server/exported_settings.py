"""Settings of a server's command line that are obeyed in kernels, which read files and the environment only."""

from __future__ import annotations

from traitlets.config import Config

from jupyter_webresearch.config import WebDisplay, WebKernel, environment_name
from jupyter_webresearch.config_sources import command_line_level

__all__ = ["exported_settings"]

_OF_KERNELS = (WebDisplay, WebKernel)


def exported_settings(cli: Config) -> dict[str, str]:
    """Return the environment variables that hand ``WebDisplay`` and ``WebKernel`` on to kernels.

    What a kernel asks of its server is done with the server's settings; nothing else needs to be handed on.

    Parameters
    ----------
    cli
        What the server's command line sets.

    Raises
    ------
    Failed
        ``config``, as :func:`~jupyter_webresearch.config_sources.command_line_level`.
    """
    values = command_line_level(cli).values
    return {
        environment_name(cls, trait): str(values[f"{cls.__name__}.{trait}"])
        for cls in _OF_KERNELS
        for trait in cls.class_own_traits(config=True)
        if f"{cls.__name__}.{trait}" in values
    }
