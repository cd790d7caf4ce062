"""What a kernel has used in all: a restart refills nothing, a shutdown ends it."""

from __future__ import annotations

from pathlib import Path

from tests.server.running import ThreadServer, start_kernel, wait_until
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

CODE = """
import jupyter_webresearch as web
try:
    print(web.fetch("http://www.example.org/plain", fresh=True).status)
except web.WebResearchError as error:
    print(error.code, error.setting)
"""


def test_a_kernels_total_outlives_its_restart_and_ends_with_it(web: Site, tmp_path: Path) -> None:
    seams = {"resolver": StubResolver(), "dialler": MappedDialler(everything=web.port), "interfaces": frozenset}
    with ThreadServer(tmp_path, seams=seams, arguments=["--WebBudgets.kernel_total=2"]) as server:
        call = server.caller()
        kernel = start_kernel(call, server.folders.runtime)
        try:
            assert kernel.run(CODE).strip() == "200"
            assert call("POST", f"api/kernels/{kernel.id}/restart", {}).status == 200
            kernel.client.wait_for_ready(timeout=60)
            server.on_loop(server.extension.life.sweep)
            assert kernel.run(CODE).strip() == "200"
            assert kernel.run(CODE).strip() == "over_budget WebBudgets.kernel_total"
        finally:
            kernel.close()
        engine = server.on_loop(server.extension.engine)

        def used() -> float:
            """Ask what is counted under the kernel's id, of a session that is made anew if it has ended."""
            report = engine.submit(engine.policy(engine.session(f"kernel:{kernel.id}"))).result(60)
            return next(row["used"] for row in report["budgets"] if row["name"] == "WebBudgets.kernel_total")

        assert used() == 2
        assert call("DELETE", f"api/kernels/{kernel.id}").status == 204
        wait_until(lambda: used() == 0)
    assert [request.path for request in web.seen] == ["/plain", "/plain"]
