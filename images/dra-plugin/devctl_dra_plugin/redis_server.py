"""The node's Redis, in which the host's tool canhazgpu keeps its reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import redis
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.retry import Retry

from devctl_dra_plugin import entries
from devctl_dra_plugin.names import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from devctl_dra_plugin.reservations import Change, Found

_PREFIX = "canhazgpu:"
LOCK = f"{_PREFIX}allocation_lock"
HISTORY = f"{_PREFIX}usage_history_sorted"
COUNT, PROVIDER = f"{_PREFIX}gpu_count", f"{_PREFIX}provider"
_KEPT = 90 * 24 * 3600
"""Seconds for which the tool keeps its history after the last entry."""
_TIMEOUT = 3.0
_TRIES = 5
_SOCKET = "unix://"


class RedisError(Exception):
    """Redis did not do what was asked, as far as is known."""


class BusyError(RedisError):
    """Someone else is reserving GPUs at this moment."""


class _Password(CredentialProvider):
    """The plugin's account, with a password that is read for each connection: it may change."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def get_credentials(self) -> tuple[str, str]:
        """User and password."""
        return AGENT, self._file.read_text().rstrip("\n")


class Redis:
    """A connection that is made when it is needed, and again when it is lost.

    Args:
        where: `HOST:PORT`, or `unix://` and the path of a socket.
        password: The file with the plugin's password; None if Redis asks for none.
    """

    def __init__(self, where: str, password: Path | None = None) -> None:
        """Connect to nothing yet.

        Raises:
            ValueError: That is no address.
        """
        if where.startswith(_SOCKET):
            self._client = _client(password, unix_socket_path=where.removeprefix(_SOCKET))
        else:
            host, colon, port = where.rpartition(":")
            if not (host and colon and port.isdecimal()):
                raise ValueError(f"`{where}` is neither HOST:PORT nor a socket's {_SOCKET}PATH")
            self._client = _client(password, host=host.strip("[]"), port=int(port))

    def set_up(self, count: int, provider: str) -> None:
        """Tell the tool how many GPUs there are, unless an administrator has told it.

        Raises:
            RedisError: It may not know.
        """
        try:
            self._client.set(COUNT, count, nx=True)
            self._client.set(PROVIDER, provider, nx=True)
        except (redis.RedisError, OSError) as error:
            raise _failure(error) from error

    def change(
        self, indexes: Iterable[int], now: float, decide: Callable[[Found], Change]
    ) -> Change:
        """Write what is decided from what is there, unless it has changed in between.

        The tool's lock is held while it decides by itself, so nothing is written meanwhile.

        Raises:
            BusyError: The lock is held, or the keys change all the time.
            RedisError: It may not be written.
        """
        wanted = list(indexes)
        try:
            for _ in range(_TRIES):
                try:
                    return self._try(wanted, now, decide)
                except redis.WatchError:
                    continue
        except (redis.RedisError, OSError) as error:
            raise _failure(error) from error
        raise BusyError("Redis: the reservations change all the time")

    def _try(self, wanted: list[int], now: float, decide: Callable[[Found], Change]) -> Change:
        keys = _keys(wanted)
        pipe: Any  # of which some functions have no types
        with self._client.pipeline() as pipe:
            pipe.watch(LOCK, *keys)
            if pipe.exists(LOCK):
                raise BusyError("Redis: the host's tool is reserving GPUs")
            change = decide(_parsed(wanted, pipe.mget(keys) if keys else []))
            if not change.states:
                return change
            pipe.multi()
            for index, state in change.states.items():
                pipe.set(_key(index), state)
            for ended in change.ended:
                pipe.zadd(HISTORY, {entries.usage(ended, now): int(now)})
            if change.ended:
                pipe.expire(HISTORY, _KEPT)
            pipe.execute()
            return change


def _client(password: Path | None, **where: Any) -> redis.Redis:
    """One that tries twice, since an idle connection may be gone."""
    options: dict[str, Any] = {
        "socket_timeout": _TIMEOUT,
        "socket_connect_timeout": _TIMEOUT,
        "decode_responses": True,
        "encoding_errors": "replace",
        "retry": Retry(NoBackoff(), 1),
        "protocol": 2,
        "driver_info": None,
        "credential_provider": None if password is None else _Password(password),
    }
    return redis.Redis(**options, **where)


def _key(index: int) -> str:
    return f"{_PREFIX}gpu:{index}"


def _keys(indexes: Iterable[int]) -> list[str]:
    return [_key(index) for index in indexes]


def _parsed(indexes: Iterable[int], texts: Iterable[str | None]) -> Found:
    read = [entries.parse(*each) for each in zip(indexes, texts, strict=True)]
    return {each.index: each for each in read if each is not None}


def _failure(error: Exception) -> RedisError:
    return RedisError(f"Redis: {type(error).__name__}: {error}")
