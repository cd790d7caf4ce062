"""XML that a service sent, read without what makes XML dangerous."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from jupyter_webresearch.search.answer import ProviderError
from jupyter_webresearch.search.service import Reply

if TYPE_CHECKING:
    from lxml import etree

__all__ = ["parsed_xml"]


async def parsed_xml(reply: Reply) -> etree._Element:
    """Return the root element. No entity is resolved, no DTD is loaded, nothing is asked of the network.

    Raises
    ------
    ProviderError
        ``bad_payload`` for what is no XML, and for XML that declares entities.
    """
    root = await anyio.to_thread.run_sync(_root, reply.body, abandon_on_cancel=True)
    if root is None:
        raise ProviderError("bad_payload", "the answer is not XML as it should be", http_status=reply.status)
    return root


def _root(body: bytes) -> etree._Element | None:
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(body, parser)
    except (ValueError, etree.XMLSyntaxError):
        return None
    dtd = root.getroottree().docinfo.internalDTD
    return None if dtd is not None and any(dtd.iterentities()) else root  # type: ignore[union-attr]  # the stubs lack it
