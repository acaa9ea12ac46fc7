"""Settings: a person's own in a file here, and an administrator's for all users of a cluster."""

from __future__ import annotations

import os
import re
import time
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from devctl.api.devserver_user import AUTOMATION, USER_NAME
from devctl.api.durations import parse_duration
from devctl.errors import DeniedError, HostError, NotFoundError, UsageError
from devctl.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tomlkit import TOMLDocument

    from devctl.kube.cluster import Cluster, Object

_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


@dataclass(frozen=True)
class Key:
    """A setting of a person's; without `choices` it may have any value of its kind."""

    help: str
    choices: Sequence[str] = ()
    kind: Literal["text", "truth", "duration", "secret"] = "text"

    def read(self, value: object, where: str) -> Any:
        """A value as commands take it; raises UsageError, which names `where` it is from."""
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
            shown = "" if self.kind == "secret" else f": {value!r}"
            raise UsageError(f"{where} is not text{shown}", "write it in quotes, on one line")
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
    "workers_url": Key("Where the GPU workers API is."),
    "workers_token": Key("Token or key for it.", kind="secret"),
}


def path() -> Path:
    """The person's file, which need not exist."""
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "devctl" / "config.toml"


def check_key(key: str, where: str = "") -> Key:
    """The setting of this name; raises UsageError, with the closest one, if it does not exist."""
    if key in KEYS:
        return KEYS[key]
    close = get_close_matches(key, KEYS, n=1)
    raise UsageError(
        f"{where}there is no setting `{key}`",
        f"did you mean `{close[0]}`?" if close else f"use one of: {', '.join(KEYS)}",
    )


def preferred(key: str) -> tuple[Any, str]:
    """A setting and the variable or file with it, None and "" if unset; may raise UsageError."""
    variable = f"DEVCTL_{key.upper()}"
    if said := os.environ.get(variable):
        return KEYS[key].read(said, f"${variable}"), variable
    found = saved()
    return (found[key], str(path())) if key in found else (None, "")


def saved() -> Mapping[str, Any]:
    """The settings in the file, if it exists; raises UsageError if it is invalid."""
    file = path()
    try:
        file.stat()
    except OSError:
        return {}
    found = _load()[1]
    for key in found:
        check_key(key, f"`{file}`: ")
    return {key: KEYS[key].read(value, f"`{key}` in `{file}`") for key, value in found.items()}


def save(key: str, text: str) -> None:
    """Write a setting to the file, and keep everything else in it, including comments.

    Raises:
        UsageError: The setting does not exist, or the value is invalid.
        HostError: The file cannot be written.
    """
    value = check_key(key).read(text, f"`{key}`")
    with _edited() as document:
        document[key] = value


def forget(key: str) -> None:
    """Remove a setting, even an unknown one; raises NotFoundError if the file does not set it."""
    with _edited() as document:
        if key not in document:
            check_key(key)
            raise NotFoundError(f"`{key}` is not set in `{path()}`", "see `devctl config list`")
        del document[key]


@contextmanager
def _edited() -> Iterator[TOMLDocument]:
    """The file's content, which is written back at the end of the `with` block."""
    import tomlkit  # noqa: PLC0415 - reading does without its comments

    yield (document := tomlkit.parse(_load()[0]))
    try:
        write_file(path(), tomlkit.dumps(document))
    except OSError as error:
        raise HostError(
            f"cannot write `{path().resolve()}`: {error.strerror or error}",
            "make it writable, or set XDG_CONFIG_HOME",
        ) from error


def _load() -> tuple[str, dict[str, Any]]:
    try:
        text = path().read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except FileNotFoundError:
        return "", {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"`{path()}` cannot be read: {error}", "correct it first") from error


IMAGE = "DEVCTL_IMAGE"
"""The environment variable with the default image of servers."""
VLLM_IMAGES = "DEVCTL_VLLM_IMAGES"
"""The environment variable with the pattern of the images of vLLM's commits."""
VERSION = "app.kubernetes.io/version"
"""The label with the installed release."""
NAME = "devctl-settings"
"""The ConfigMap with the administrator's settings."""
NAMESPACE = "devctl-system"


def default_image(cluster: Cluster) -> str:
    """The cluster's default image of servers; empty if the administrator has set none."""
    return _settings(cluster).get("image", "")


def image_of_servers(cluster: Cluster) -> str:
    """The default image: DEVCTL_IMAGE, else the cluster's; raises UsageError if neither is set."""
    if image := os.environ.get(IMAGE) or default_image(cluster):
        return image
    raise UsageError(
        "no image is named, and the cluster has no default image",
        f"name one with --image or {IMAGE}, or have an administrator set `image` in the "
        "ConfigMap `devctl-settings`",
    )


def loader_image(cluster: Cluster) -> str:
    """The image of pods that transfer files of jobs: its own setting, else that of servers."""
    settings = _settings(cluster)
    return settings.get("loaderImage") or settings.get("image", "")


def capsule_class(cluster: Cluster) -> str:
    """The storage class of volumes for capsules of checkouts; empty for the cluster's default."""
    return _settings(cluster).get("capsuleStorageClass", "")


def vllm_images(cluster: Cluster) -> str:
    """The pattern of the images of vLLM's commits; empty for those of vLLM's project."""
    return os.environ.get(VLLM_IMAGES) or _settings(cluster).get("vllmImages", "")


def login_arguments(cluster: Cluster) -> list[str]:
    """The arguments of `devctl credential` for users of this cluster; empty if none are set."""
    return _settings(cluster).get("login", "").split()


def completed(cluster: Cluster, spec: Object, present: Object | None = None) -> Object:
    """A spec with its own, present or default image and owner; raises UsageError without image."""
    spec, present = dict(spec), present or {}
    if "image" not in spec:
        spec["image"] = present.get("image") or image_of_servers(cluster)
    if "owner" not in spec:
        spec["owner"] = present.get("owner") or acting_for(cluster)
    return spec


def acting_for(cluster: Cluster) -> str:
    """The owner of what is created: the user, also where their automation creates it."""
    name = cluster.whoami()
    if name != f"system:serviceaccount:{cluster.namespace}:{AUTOMATION}":
        return name
    return annotations_of(cluster).get(USER_NAME, name)


def _settings(cluster: Cluster) -> dict[str, str]:
    data = _config_map(cluster).get("data") or {}
    return {str(name): str(value) for name, value in data.items()}


def annotations_of(cluster: Cluster) -> Mapping[str, str]:
    """The annotations of the user's namespace; none where the user may not see it."""
    from devctl.kube import resources  # noqa: PLC0415 - `devctl config` needs no cluster

    try:
        space = cluster.find(resources.Namespace, cluster.namespace) or {}
    except DeniedError:
        return {}
    found: dict[str, str] = (space.get("metadata") or {}).get("annotations") or {}
    return found


def _config_map(cluster: Cluster) -> Object:
    from devctl.kube import resources  # noqa: PLC0415 - `devctl config` needs no cluster

    try:
        return cluster.get(resources.ConfigMap, NAME, NAMESPACE)
    except (NotFoundError, DeniedError):
        return {}


_RELEASE = re.compile(r"(\d{1,6})\.(\d{1,6})(?:[.+-].*)?", re.ASCII)


def apart(here: str, there: str) -> bool:
    """Whether two releases are more than a minor version apart; False if one is unreadable.

    >>> apart("0.3.0", "0.2.9"), apart("0.3.0", "0.1.0"), apart("1.0.0", "0.9.0"), apart("x", "1.0")
    (False, True, True, False)
    """
    one, other = _RELEASE.fullmatch(here), _RELEASE.fullmatch(there)
    if not one or not other:
        return False
    return one[1] != other[1] or abs(int(one[2]) - int(other[2])) > 1


def skew(cluster: Cluster) -> str:
    """A warning if devctl here and in the cluster are too far apart; else empty."""
    from devctl.client.doctor import own_version  # noqa: PLC0415 - once a day

    labels = _config_map(cluster).get("metadata", {}).get("labels") or {}
    here, there = own_version(), str(labels.get(VERSION, ""))
    if not apart(here, there):
        return ""
    return f"devctl here is {here}, in the cluster {there}: have the older one upgraded"


def due(check: str, of: str, seconds: float) -> bool:
    """Whether something was last checked that long ago or longer; marks it as checked."""
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    file = Path(folder) / "devctl" / check / sha256(of.encode()).hexdigest()[:16]
    try:
        if file.exists() and 0 <= time.time() - file.stat().st_mtime < seconds:
            return False
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError:
        # Without a place to remember it, the warning would appear each time.
        return False
    return True
