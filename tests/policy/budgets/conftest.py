"""A Redis for all tests of this folder, and a ledger of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.policy.budgets.redis_server import RedisServer
from tests.policy.budgets.rigs import KINDS, RedisRig, Rig, make_rig


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=KINDS)
async def rig(request: pytest.FixtureRequest, tmp_path: Path, redis_server: RedisServer) -> AsyncIterator[Rig]:
    made = make_rig(request.param, tmp_path, redis_server)
    yield made
    await made.ledger.close()
    if isinstance(made, RedisRig):
        made.close()
