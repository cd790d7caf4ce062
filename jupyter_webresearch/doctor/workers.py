"""Whether pages can be extracted, and how well whoever does it is fenced in."""

from __future__ import annotations

import asyncio
import platform
import sys
import time

from jupyter_webresearch.config import Settings
from jupyter_webresearch.doctor.finding import Finding
from jupyter_webresearch.errors import WebResearchError

__all__ = ["LINUX_FENCES", "extraction_workers", "try_worker"]

# Fences of extraction/sandbox.py that every Linux gives; their absence has a cause outside of us.
LINUX_FENCES = ("audit hook", "address space", "processor time", "file size", "descriptors", "system calls")


def extraction_workers(settings: Settings) -> Finding:
    """Start a worker, give it a page, and ask what fences it in."""
    name = "extraction workers"
    try:
        fences, seconds, size = asyncio.run(try_worker(settings))
    except (WebResearchError, OSError) as error:
        return Finding(
            name, "fail", str(error), "run this in a plain terminal, and see whether processes can be started"
        )
    detail = f"{size} at once; first page after {seconds:.1f} s; fences: {', '.join(fences)}"
    missing = [fence for fence in LINUX_FENCES if fence not in fences]
    if not missing:
        return Finding(name, "ok", detail)
    mend = f"not fenced in by {', '.join(missing)}"
    if sys.platform == "linux":
        mend += ": allow setrlimit and seccomp in this container, and kernels of 3.17 or newer"
    else:
        mend += f", which {platform.system()} does not have; workers are still killed when they overrun"
    return Finding(name, "warn", detail, mend)


async def try_worker(settings: Settings) -> tuple[tuple[str, ...], float, int]:
    """Return a worker's fences, the seconds until its first page is done, and how many workers there would be."""
    from jupyter_webresearch.extraction.pool import ExtractionPool
    from jupyter_webresearch.extraction.worker import SAMPLE

    begun = time.monotonic()
    pool = ExtractionPool(settings.extraction)
    try:
        fences = await pool.start()
        await pool.extract(SAMPLE, url="https://example.org/", content_type="text/html", charset_label="utf-8")
        return fences, time.monotonic() - begun, pool.size
    finally:
        await pool.close()
