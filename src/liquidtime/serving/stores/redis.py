"""State in a Redis server, accessed by scripts that run there atomically."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

import redis

from liquidtime.serving.stores.store import Full, Listed, Store, Stored, StoreFailed, new_version

_WAIT = 5.0
_PUT = """
if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[1] then return 0 end
if ARGV[1] == '' and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then return -1 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'content', ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[5])
return 1"""
_DELETE = """
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])"""
_EVICT = """
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'LIMIT', 0, 1000)
for _, id in ipairs(old) do
  redis.call('DEL', ARGV[2] .. id)
  redis.call('ZREM', KEYS[1], id)
end
return #old"""
_MODELS = "liquidtime:models"


class RedisStore(Store):
    """State in Redis, which any number of machines can share; its durability depends on the configuration of Redis.

    Args:
        address: redis://[user:password@]host:port/number, or rediss:// with TLS.
        model: identity of the model of the series.

    Raises:
        StoreFailed: the server cannot be reached.

    """

    kind: ClassVar[str] = "redis"

    def __init__(self, address: str, model: str) -> None:
        self._model = model
        self._prefix = f"liquidtime:{{{model}}}:"  # the braces put all keys of a model on one machine of a cluster
        self._ages = f"{self._prefix}ages"
        with self._failing():
            self._client: Any = redis.Redis.from_url(
                address, socket_timeout=_WAIT, socket_connect_timeout=_WAIT, health_check_interval=30
            )
            self._put, self._delete, self._evict = map(self._client.register_script, (_PUT, _DELETE, _EVICT))
            self._client.sadd(_MODELS, model)

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (redis.RedisError, ValueError) as error:
            raise StoreFailed(f"the state in Redis cannot be used: {error}") from error

    def _key(self, id: str) -> str:
        return f"{self._prefix}series:{id}"

    def get(self, id: str) -> Stored | None:  # noqa: D102
        with self._failing():
            version, content = self._client.hmget(self._key(id), "version", "content")
        return None if version is None else Stored(int(version), content)

    def put(self, id: str, content: bytes, seen: int | None, updated: float, most: int) -> bool:  # noqa: D102
        words = ["" if seen is None else seen, new_version(), content, updated, id, most]
        with self._failing():
            written = self._put(keys=[self._key(id), self._ages], args=words)
        if written == -1:
            raise Full
        return bool(written == 1)

    def delete(self, id: str) -> bool:  # noqa: D102
        with self._failing():
            return bool(self._delete(keys=[self._key(id), self._ages], args=[id]))

    def evict(self, before: float) -> int:  # noqa: D102
        total = 0
        with self._failing():
            while count := int(self._evict(keys=[self._ages], args=[before, self._key("")])):
                total += count
        return total

    def newest(self, count: int) -> list[Listed]:  # noqa: D102
        with self._failing():
            ids = [id.decode() for id in self._client.zrevrange(self._ages, 0, count - 1)] if count else []
            pipeline = self._client.pipeline(transaction=False)
            for id in ids:
                pipeline.hget(self._key(id), "content")
            contents = pipeline.execute() if ids else []
        return [Listed(id, content) for id, content in zip(ids, contents, strict=True) if content is not None]

    def count(self) -> int:  # noqa: D102
        with self._failing():
            return int(self._client.zcard(self._ages))

    def of_others(self) -> int:  # noqa: D102
        with self._failing():
            models = {model.decode() for model in self._client.smembers(_MODELS)} - {self._model}
            return sum(int(self._client.zcard(f"liquidtime:{{{model}}}:ages")) for model in models)

    def note(self) -> str:  # noqa: D102
        with self._failing():
            persistence = self._client.info("persistence")
        if not persistence.get("aof_enabled"):
            return "Redis writes no append-only file here: samples since its last snapshot would be lost if it stops."
        return ""

    def close(self) -> None:  # noqa: D102
        self._client.close()
