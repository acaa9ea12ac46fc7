"""A person's defaults: `~/.config/devctl/config.toml`, and the variables that go before it."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.api.durations import parse_duration
from devctl.client import atomic_write
from devctl.errors import HostError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


@dataclass(frozen=True)
class Key:
    """Something that can be preferred.

    Attributes:
        help: What it is, in a few words.
        choices: What it may be; anything where there are none.
        kind: How it is written: text, a truth value or a duration.
    """

    help: str
    choices: Sequence[str] = ()
    kind: str = "text"

    def read(self, value: object, where: str) -> Any:
        """A value as commands take it.

        Args:
            value: As it is written.
            where: Where that is, for an error.

        Raises:
            UsageError: It cannot be this key's.
        """
        text = str(value)
        if self.kind == "truth":
            if text.lower() in _TRUE | _FALSE:
                return text.lower() in _TRUE
            raise UsageError(f"{where} is `{text}`", "use true or false")
        if self.choices and text not in self.choices:
            raise UsageError(f"{where} is `{text}`", f"use one of: {', '.join(self.choices)}")
        if self.kind == "duration":
            try:
                parse_duration(text)
            except (ValueError, OverflowError) as error:
                raise UsageError(f"{where} is `{text}`: {error}", "write `90s` or `10m`") from error
        elif not isinstance(value, str) or not text or not text.isprintable():
            raise UsageError(f"{where} is not text: {value!r}", "write it in quotes, on one line")
        return text


KEYS: Mapping[str, Key] = {
    "namespace": Key("Namespace, before the context's."),
    "context": Key("Context of the kubeconfig, before its current one."),
    "flavor": Key("Flavor of new servers."),
    "image": Key("Image of new servers."),
    "output": Key("Format of lists.", ("table", "wide", "json", "yaml", "name")),
    "wait": Key("Whether commands wait.", kind="truth"),
    "timeout": Key("How long they wait.", kind="duration"),
    "color": Key("When to use colors.", ("auto", "always", "never")),
}


def path() -> Path:
    """The file, whether it is there or not."""
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "devctl" / "config.toml"


def variable(key: str) -> str:
    """The environment's variable that goes before the file.

    >>> variable("flavor")
    'DEVCTL_FLAVOR'
    """
    return f"DEVCTL_{key.upper()}"


def check_key(key: str, where: str = "") -> Key:
    """What a key means.

    Raises:
        UsageError: There is none of that name; it says which one is close.
    """
    if key in KEYS:
        return KEYS[key]
    close = get_close_matches(key, KEYS, n=1)
    raise UsageError(
        f"{where}there is no setting `{key}`",
        f"did you mean `{close[0]}`?" if close else f"use one of: {', '.join(KEYS)}",
    )


def preferred(key: str) -> tuple[Any, str]:
    """What is preferred and where that is said; None and nothing where it is not.

    Raises:
        UsageError: The file, or the variable, cannot be used.
    """
    if said := os.environ.get(variable(key)):
        return KEYS[key].read(said, f"${variable(key)}"), variable(key)
    found = saved()
    return (found[key], str(path())) if key in found else (None, "")


def saved() -> Mapping[str, Any]:
    """What the file says; nothing where there is none.

    Raises:
        UsageError: It cannot be read, or holds what is no setting.
    """
    file = path()
    try:
        state = file.stat()
    except OSError:
        return {}
    return _read(file, state.st_mtime_ns, state.st_size)


def save(key: str, text: str) -> None:
    """Write a setting into the file; all else in it stays as it is, comments too.

    Raises:
        UsageError: There is no such setting, or it cannot be that.
        HostError: The file cannot be written.
    """
    import tomlkit  # noqa: PLC0415 - only this needs it

    value = check_key(key).read(text, f"`{key}`")
    document = tomlkit.parse(_text())
    document[key] = value
    _write(tomlkit.dumps(document))


def forget(key: str) -> None:
    """Take a setting out of the file; also one that is unknown.

    Raises:
        NotFoundError: It is not in it.
    """
    import tomlkit  # noqa: PLC0415 - only this needs it

    document = tomlkit.parse(_text())
    if key not in document:
        check_key(key)
        raise NotFoundError(f"`{key}` is not set in `{path()}`", "see `devctl config list`")
    del document[key]
    _write(tomlkit.dumps(document))


@lru_cache(maxsize=1)
def _read(file: Path, _changed: int, _size: int) -> Mapping[str, Any]:
    fix = f"correct it in `{file}`"
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"`{file}` cannot be read: {error}", fix) from error
    for key in found:
        check_key(key, f"`{file}`: ")
    return {key: KEYS[key].read(value, f"`{key}` in `{file}`") for key, value in found.items()}


def _text() -> str:
    try:
        text = path().read_text(encoding="utf-8")
        tomllib.loads(text)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"`{path()}` cannot be read: {error}", "correct it first") from error
    return text


def _write(text: str) -> None:
    try:
        atomic_write.write(path(), text)
    except OSError as error:
        raise HostError(
            f"cannot write `{path().resolve()}`: {error.strerror or error}",
            "free it, or set XDG_CONFIG_HOME",
        ) from error
