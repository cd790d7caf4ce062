"""Counts on a Redis server, shared by several servers."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, MovedError, RedisError
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.budgets.judging import KEPT_SECONDS, MICROSECONDS, most_pressing, window_of
from jupyter_webresearch.policy.budgets.limit import Limit, Shortage, Use

__all__ = ["RedisLedger"]

T = TypeVar("T")

PREFIX = "{webresearch}:"
"""Of every key. The braces make a cluster keep all of them on one node, where one script can judge them together."""

ANSWER = 0.9
"""Seconds within which Redis has to be reached, to accept us and to answer, all together."""

# Redis's clock is the only one that all servers share. A stamp that lies in its future, because it was set back or
# another node took over, counts as taken now: it holds for one window more at most, and none is lost.
#
# KEYS: of the limits. ARGV: a name for this call, then size, window (0 for a total), cost and milliseconds to live of
# each limit. It returns for each the microseconds until its cost fits: 0 for now, -1 for never; all 0 if all was taken.
TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local waits, fits = {}, true
for i, key in ipairs(KEYS) do
  local size, window, cost = tonumber(ARGV[4 * i - 2]), tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i])
  waits[i] = 0
  if window == 0 then
    if tonumber(redis.call('GET', key) or 0) + cost > size then waits[i] = -1 end
  else
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
    for _, unit in ipairs(redis.call('ZRANGEBYSCORE', key, string.format('(%.0f', now), '+inf')) do
      redis.call('ZADD', key, now, unit)
    end
    local short = redis.call('ZCARD', key) + cost - size
    if short > 0 then
      if cost > size then
        waits[i] = -1
      else
        waits[i] = tonumber(redis.call('ZRANGE', key, short - 1, short - 1, 'WITHSCORES')[2]) + window - now
      end
    end
  end
  if waits[i] ~= 0 then fits = false end
end
if fits then
  for i, key in ipairs(KEYS) do
    local window, cost, life = tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i]), ARGV[4 * i + 1]
    if cost > 0 then
      if window == 0 then
        redis.call('INCRBY', key, ARGV[4 * i])
      else
        for n = 1, cost do redis.call('ZADD', key, now, ARGV[1] .. ':' .. n) end
      end
      redis.call('PEXPIRE', key, life)
    end
  end
end
return waits
"""

# ARGV: the cost of each.
GIVE_BACK = """
for i, key in ipairs(KEYS) do
  local used = tonumber(redis.call('GET', key) or 0)
  if used > 0 then redis.call('DECRBY', key, string.format('%.0f', math.min(used, tonumber(ARGV[i])))) end
end
"""

# ARGV: the window of each. It returns for each what is used, and the microseconds until the oldest unit falls out.
USES = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answer = {}
for i, key in ipairs(KEYS) do
  local window = tonumber(ARGV[i])
  if window == 0 then
    answer[i] = {tonumber(redis.call('GET', key) or 0), -1}
  else
    local since = string.format('(%.0f', now - window)
    local oldest = redis.call('ZRANGEBYSCORE', key, since, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    local frees = oldest and math.min(tonumber(oldest), now) + window - now or -1
    answer[i] = {redis.call('ZCOUNT', key, since, '+inf'), frees}
  end
end
return answer
"""


class RedisLedger:
    """A :class:`~jupyter_webresearch.policy.budgets.limit.Ledger` on Redis 5 or newer. Used on one loop.

    Each call is one script, which Redis runs alone. None is repeated: one whose answer was lost may have been counted.
    A Redis Cluster is recognised when it sends us to another node.

    Parameters
    ----------
    url
        ``redis://``, ``rediss://`` (TLS) or ``unix://``, with what redis-py understands in it.

    Raises
    ------
    Failed
        ``config`` for a URL that can't be used. No error and no log record shows its password.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._name = _name_in(url)
            self._client: Any = Redis.from_url(url, **_options())  # Any: redis-py's types change between its versions
            _read_options(self._client)
        except (ValueError, TypeError, AttributeError, RedisError):  # their texts may quote from it
            raise Failed(
                "config",
                "the URL of Redis can't be used: it must be redis://HOST:PORT/DB, rediss://HOST:PORT/DB or "
                "unix:///path, user name and password in it percent-encoded, and with options that redis-py knows",
                setting="WebBudgets.storage",
            ) from None

    async def take(self, limits: Sequence[Limit]) -> Shortage | None:
        """Take all or nothing; see :meth:`Ledger.take`."""
        if not limits:
            return None
        rows = [(limit.size, window_of(limit), limit.cost, _life(limit)) for limit in limits]
        waits = await self._run(TAKE, limits, secrets.token_hex(8), *(value for row in rows for value in row))
        return most_pressing(limits, (None if wait < 0 else wait for wait in waits))

    async def give_back(self, limits: Sequence[Limit]) -> None:
        """Return what was taken of totals; see :meth:`Ledger.give_back`."""
        totals = [limit for limit in limits if limit.seconds is None]
        if totals:
            await self._run(GIVE_BACK, totals, *(limit.cost for limit in totals))

    async def uses(self, limits: Sequence[Limit]) -> list[Use]:
        """Return what is used; see :meth:`Ledger.uses`."""
        if not limits:
            return []
        answers = await self._run(USES, limits, *(window_of(limit) for limit in limits))
        return [
            Use(limit, used, None if frees < 0 else frees / MICROSECONDS)
            for limit, (used, frees) in zip(limits, answers, strict=True)
        ]

    async def forget(self, prefix: str) -> None:
        """Drop keys; see :meth:`Ledger.forget`."""
        pattern = re.sub(r"([\\*?\[\]^])", r"\\\1", PREFIX + prefix) + "*"

        async def delete() -> None:
            """Find the keys and drop them."""
            keys = [key async for key in self._client.scan_iter(match=pattern, count=1000)]
            if keys:
                await self._client.delete(*keys)

        await self._answer(delete)

    async def close(self) -> None:
        """Close the connections; see :meth:`Ledger.close`."""
        with anyio.move_on_after(ANSWER):
            await self._client.aclose()

    async def _run(self, script: str, limits: Sequence[Limit], *arguments: object) -> Any:
        keys = [PREFIX + limit.key for limit in limits]

        async def run() -> Any:
            try:
                return await self._client.eval(script, len(keys), *keys, *arguments)
            except MovedError:  # nothing was done: this node of a cluster does not hold our keys
                await self._client.aclose()
                self._client = RedisCluster.from_url(self._url, **_options())
                return await self._client.eval(script, len(keys), *keys, *arguments)

        return await self._answer(run)

    async def _answer(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Bound what is asked, and say plainly why there is no answer: redis-py's own words may hold anything."""
        try:
            with anyio.fail_after(ANSWER):
                return await ask()
        except (TimeoutError, NoAnswer):
            why = f"does not answer within {ANSWER:g} s"
        except AuthenticationError:
            why = "does not accept user name and password"
        except (NoConnection, OSError):
            why = "can't be reached"
        except RedisError as error:
            why = f"refuses to count ({type(error).__name__})"
        raise Failed("budget_unavailable", f"the budgets' Redis {self._name} {why}: see that it runs and is reachable")


def _life(limit: Limit) -> int:
    """Return milliseconds; a window's last unit must not be gone before it falls out."""
    return 1000 * KEPT_SECONDS if limit.seconds is None else round(1000 * limit.seconds) + 1000


def _name_in(url: str) -> str:
    """Return what of a URL may be shown; ValueError where a part of a password could be taken for something else."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss", "unix") or "@" in parts.path + parts.query + parts.fragment:
        raise ValueError(parts.scheme)
    return parts.path if parts.scheme == "unix" else f"{parts.hostname or 'localhost'}:{parts.port or 6379}"


def _read_options(client: Any) -> None:
    """Have redis-py read the URL's options now; it would when it first connects. Nothing is connected to."""
    client.connection_pool.make_connection()


def _options() -> dict[str, Any]:
    # RESP2, because with RESP3 redis-py no longer notices that a server has closed an idle connection.
    return {"protocol": 2, "retry": Retry(NoBackoff(), 0), "socket_timeout": ANSWER, "socket_connect_timeout": ANSWER}
