"""The server extension."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_server.extension.application import ExtensionApp
from traitlets.config import Config

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import CONFIGURABLES, Settings
from jupyter_webresearch.config_loading import load_settings
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.policy.budgets.storage import MEMORY, meanwhile, redis_ledger, try_ledger
from jupyter_webresearch.policy.lists import Lists, on_hub
from jupyter_webresearch.policy.machine import jupyter_ports
from jupyter_webresearch.policy.switch import Switch
from jupyter_webresearch.server.event_stream import emit, register
from jupyter_webresearch.server.exported_settings import exported_settings
from jupyter_webresearch.server.exported_url import exported_environment
from jupyter_webresearch.server.handlers import ROUTES
from jupyter_webresearch.server.kernel_auth import ProofVerifier
from jupyter_webresearch.server.notebook_metadata import NotebookMetadata
from jupyter_webresearch.server.notebook_of_kernel import NotebookOfKernel
from jupyter_webresearch.server.session_life import KERNEL_ACTIONS, SessionLife
from jupyter_webresearch.surfaces import offered

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

    from jupyter_webresearch.engine import Engine

__all__ = ["WebResearchApp"]

MOST_FAULTS = 100
"""Different faults that are logged: some name a notebook, and a notebook can be renamed for ever."""


class WebResearchApp(ExtensionApp):
    """Reads the web for this server's kernels and users.

    Importing and loading it is cheap: the engine and what it needs are imported by the first request, on a thread.
    """

    name = "webresearch"
    description = "Read the web from a notebook: guarded, inert, and shown where it came from."
    load_other_extensions = True
    classes = [*ExtensionApp.classes, *CONFIGURABLES]  # noqa: RUF012 -- as traitlets declares it

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        clock = SystemClock()
        self.seams: dict[str, Any] = {"clock": clock}
        """Keyword arguments of the Engine, read when it is made: where a test injects what stands for the network."""
        self.verifier = ProofVerifier(self._connection_key, clock)
        self.notebooks: NotebookOfKernel
        self.metadata: NotebookMetadata
        self.life = SessionLife(self._knows_kernel, self._forget_kernel, self._evict_user)
        self._web_settings: Settings | None = None
        self._engine: Engine | None = None
        self._making: asyncio.Task[Engine] | None = None
        self._trying: asyncio.Task[None] | None = None
        self._told: set[str] = set()
        self._stopped = False
        self._exported: dict[str, str] = {}
        self._found: dict[str, str | None] = {}
        self._events: Any = None

    @property
    def web_settings(self) -> Settings:
        """The validated settings."""
        if self._web_settings is None:
            raise RuntimeError("the extension is not linked to a server yet")
        return self._web_settings

    @property
    def server(self) -> ServerApp:
        """The server that this extension is linked to."""
        if self.serverapp is None:
            raise RuntimeError("the extension is not linked to a server yet")
        return self.serverapp

    # ------------------------------------------------------------------ life

    def _link_jupyter_server_extension(self, serverapp: Any) -> None:
        """Read the settings; what can't be used stops the server's start.

        Jupyter logs an extension's exception and starts without it. A server whose guard is not the one that its
        operator wrote must not start, so the process is ended here.
        """
        from jupyter_webresearch.start_checks import check_start

        try:
            _reject_misplaced(serverapp.config, serverapp.cli_config)
            self._web_settings = load_settings(cli=serverapp.cli_config)
            check_start(self._web_settings)
        except WebResearchError as error:
            serverapp.log.critical("Web Research can't start: %s", error.message)
            serverapp.exit(1)
        for warning in Lists(self.web_settings.policy, on_hub=on_hub(os.environ)).warnings():
            serverapp.log.warning("Web Research: %s", warning)
        super()._link_jupyter_server_extension(serverapp)

    def initialize_handlers(self) -> None:
        """Add the routes, and what they learn of notebooks by; Jupyter's managers are there by now."""
        self.notebooks = NotebookOfKernel(self.server.session_manager)
        self.metadata = NotebookMetadata(self.server.contents_manager)
        register(self.server.event_logger)
        self.handlers.extend(ROUTES)

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Tell kernels where this server is, now that the port is final, and how it is set; watch their lives."""
        self._exported = {**await exported_environment(serverapp), **exported_settings(serverapp.cli_config)}
        self._found = {name: os.environ.get(name) for name in self._exported}
        os.environ.update(self._exported)
        self._events = serverapp.event_logger
        self._events.add_listener(schema_id=KERNEL_ACTIONS, listener=self.life.on_action)
        self.life.start()
        self._trying = asyncio.ensure_future(self._try_storage())

    async def stop_extension(self) -> None:
        """End the engine, and leave the environment as it was found: it may name a server that goes on."""
        self._stopped = True
        self.life.stop()
        if self._trying is not None:
            self._trying.cancel()
        if self._events is not None:
            self._events.remove_listener(schema_id=KERNEL_ACTIONS, listener=self.life.on_action)
            self._events = None
        for name, value in self._exported.items():
            if os.environ.get(name) != value:
                continue
            before = self._found[name]
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
        if self._making is not None:
            await asyncio.wait([self._making])
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    async def engine(self) -> Engine:
        """Return the engine, made on first use.

        Raises
        ------
        Failed
            ``cancelled`` when the server is stopping.
        """
        if self._stopped:
            raise Failed("cancelled", "the server is stopping")
        if self._making is None:
            self._making = asyncio.ensure_future(asyncio.to_thread(self._make_engine, asyncio.get_running_loop()))
            self._making.add_done_callback(self._made)
        return await asyncio.shield(self._making)

    def operations(self) -> tuple[str, ...]:
        """Return the operations that are on and can be used; no engine is made for it."""
        return offered((self._engine or Switch(self.web_settings.policy)).operations())

    def tell_once(self, fault: str) -> None:
        """Log what whoever runs this server has to mend, however many requests meet it."""
        if fault not in self._told and len(self._told) < MOST_FAULTS:
            self._told.add(fault)
            line = "".join(character if character.isprintable() else "?" for character in fault)  # it may name a file
            self.server.log.error("Web Research: %s", line)

    async def _try_storage(self) -> None:
        """Warn when the storage that servers share does not answer; nobody waits for it."""
        budgets = self.web_settings.budgets
        if budgets.storage == MEMORY:
            return
        try:
            await try_ledger(redis_ledger(budgets.storage))
        except WebResearchError as error:
            self.server.log.warning("Web Research: %s; %s", error.message, meanwhile(budgets))

    def _made(self, making: asyncio.Task[Engine]) -> None:
        """Have the next request try again if the engine could not be made."""
        if making.cancelled() or making.exception() is not None:
            self._making = None

    def _make_engine(self, loop: asyncio.AbstractEventLoop) -> Engine:
        from jupyter_webresearch.engine import Engine

        runtime_dir = Path(self.server.runtime_dir)
        seams = {
            "own_ports": lambda: jupyter_ports(runtime_dir) | {self.server.port},
            "on_event": partial(emit, self.server.event_logger, loop),
            **self.seams,
        }
        engine = Engine(self.web_settings, **seams)
        engine.start()
        self._engine = engine
        return engine

    # ------------------------------------------------------------------ kernels

    def _connection_key(self, kernel_id: str) -> bytes | None:
        kernels = self.server.kernel_manager
        if kernel_id not in kernels:
            return None
        session = getattr(kernels.get_kernel(kernel_id), "session", None)
        key = getattr(session, "key", None)
        return key if isinstance(key, bytes) else None

    def _knows_kernel(self, kernel_id: str) -> bool:
        return kernel_id in self.server.kernel_manager

    def _forget_kernel(self, kernel_id: str) -> None:
        self.verifier.forget(kernel_id)
        self.notebooks.forget(kernel_id)
        self.metadata.forget(kernel_id)
        if self._engine is not None:
            self._engine.drop_session(f"kernel:{kernel_id}")

    def _evict_user(self, session_id: str) -> None:
        if self._engine is not None:
            self._engine.drop_session(session_id, ended=False)


def _reject_misplaced(config: Config, cli: Config) -> None:
    """Raise when our settings stand in a file that only servers read: kernels without one would not obey them."""
    for cls in CONFIGURABLES:
        for trait in set(config.get(cls.__name__, {})) - set(cli.get(cls.__name__, {})):
            raise Failed(
                "config",
                f"{cls.__name__}.{trait} is set in a Jupyter server's configuration file; move it to "
                "jupyter_webresearch_config.py on the Jupyter config path, which servers and kernels both read",
            )
