"""Manifests: from options, from files, from a person's editor; and server-side apply."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import yaml

from devctl.api.devserver import NAME, NAME_RULE
from devctl.api.kinds import KINDS, Kind
from devctl.api.labels import GROUP, VERSION
from devctl.client.objects import Named
from devctl.client.settings import completed
from devctl.errors import FieldConflictError, UsageError
from devctl.kube import resources
from devctl.kube.cluster import FIELD_MANAGER
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TextIO

    from devctl.client.servers import Server
    from devctl.kube.cluster import Cluster, Object


class CreateOptions(TypedDict, total=False):
    """Options of a server; those left out get the default of the kind's schema."""

    owner: str
    """Default: the user."""
    flavor: str
    image: str
    """Default: DEVCTL_IMAGE of the environment, else the cluster's."""
    distributed: bool
    """Whether it has several pods that train together; implied by any of the next five."""
    replicas: int
    world_size: int
    """The number of processes in all pods; default: one per pod."""
    nproc_per_node: int
    """The number of processes in each pod."""
    backend: str
    nccl: Mapping[str, str]
    """Environment variables of NCCL."""
    home_size: str
    shared: str
    """An existing claim to mount at /shared."""
    ttl: int | str
    """How long after its creation it is deleted."""
    max_runtime: int | str
    """How long it may run before it is stopped, even if it is active."""
    delete_after_stopped: int | str
    """How long it may be stopped before it is deleted."""
    idle_timeout: int | str
    """How long it may be idle before it is stopped."""
    ssh: bool
    stopped: bool
    labels: Mapping[str, str]


_FIELDS = {
    "owner": "owner",
    "flavor": "flavor",
    "image": "image",
    "home_size": "persistentHomeSize",
    "shared": "sharedVolumeClaimName",
    "ssh": "enableSSH",
    "stopped": "stopped",
}
_SEVERAL = {"replicas", "world_size", "nproc_per_node", "backend", "nccl"}


def check_name(name: str) -> None:
    """Raise UsageError unless a server can have this name."""
    if not NAME.fullmatch(name):
        raise UsageError(f"`{name}` cannot be a server's name", f"a name has to {NAME_RULE}")


def server_manifest(name: str, options: CreateOptions) -> dict[str, Any]:
    """The manifest of a server, with fields for the given options; UsageError if one is invalid.

    >>> server_manifest("lab", {"flavor": "cpu-small", "ssh": False})["spec"]
    {'flavor': 'cpu-small', 'enableSSH': False}
    >>> server_manifest("lab", {"replicas": 2, "nproc_per_node": 4})["spec"]["distributed"]
    {'worldSize': 8, 'nprocsPerNode': 4}
    """
    check_name(name)
    given: Mapping[str, Any] = options
    spec = {field: given[option] for option, field in _FIELDS.items() if option in given}
    if options.get("distributed") or _SEVERAL & given.keys():
        spec |= {"mode": "distributed", "distributed": _distributed(options)}
    if lifecycle := lifecycle_of(
        ttl=options.get("ttl"),
        idle=options.get("idle_timeout"),
        max_runtime=options.get("max_runtime"),
        delete_after_stopped=options.get("delete_after_stopped"),
    ):
        spec["lifecycle"] = lifecycle
    labels = {"labels": dict(found)} if (found := options.get("labels")) else {}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServer",
        "metadata": {"name": name, **labels},
        "spec": spec,
    }


def changed_spec(server: Server, options: CreateOptions) -> dict[str, Any]:
    """The fields of a server's spec that options change; raises UsageError if there are none."""
    asked: Any = dict(options)
    if _SEVERAL & asked.keys():
        before = server.spec.get("distributed") or {}
        asked.setdefault("nproc_per_node", before.get("nprocsPerNode", 1))
        if not {"replicas", "world_size"} & asked.keys():
            asked["replicas"] = server.size
    spec: dict[str, Any] = server_manifest(server.name, asked)["spec"]
    if not spec:
        raise UsageError("nothing to change", f"see `devctl update {server.name} --help`")
    return spec


def lifecycle_of(
    *,
    ttl: int | str | None = None,
    idle: int | str | None = None,
    max_runtime: int | str | None = None,
    delete_after_stopped: int | str | None = None,
) -> dict[str, Any]:
    """The block `lifecycle` of a spec.

    >>> lifecycle_of(idle="90m")
    {'idleTimeout': '90m', 'autoShutdown': True}
    """
    given = {
        "timeToLive": ttl,
        "deleteAfterStopped": delete_after_stopped,
        "idleTimeout": idle,
        "maxRuntime": max_runtime,
    }
    found: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
    return found if idle is None else found | {"autoShutdown": True}


def _distributed(options: CreateOptions) -> dict[str, Any]:
    if options.get("distributed") is False:
        raise UsageError(
            "a server of one pod has no processes to spread", "add --distributed, or leave them out"
        )
    processes = options.get("nproc_per_node", 1)
    found: dict[str, Any] = {"worldSize": _world_size(options, processes)}
    if "nproc_per_node" in options:
        found["nprocsPerNode"] = processes
    if "backend" in options:
        found["backend"] = options["backend"]
    if nccl := options.get("nccl"):
        found["ncclSettings"] = dict(nccl)
    return found


def _world_size(options: CreateOptions, processes: int) -> int:
    replicas, world = options.get("replicas"), options.get("world_size")
    for what, number in (("replicas", replicas), ("processes", processes), ("processes", world)):
        if number is not None and number < 1:
            raise UsageError(f"{number} is not a number of {what}", "name 1 or more")
    if world is None:
        if replicas is None:
            raise UsageError(
                "the number of pods is missing",
                "name it with --replicas, or the number of all processes with --world-size",
            )
        return replicas * processes
    if world % processes:
        raise UsageError(
            f"{world} processes cannot be spread over pods of {processes}",
            "let --world-size be a multiple of --nproc-per-node",
        )
    if replicas is not None and replicas * processes != world:
        raise UsageError(
            f"{replicas} pods of {processes} have {replicas * processes} processes, not {world}",
            "leave out --replicas or --world-size",
        )
    return world


STDIN = "-"
_SUFFIXES = {".yaml", ".yml", ".json"}
_KINDS = {(kind.api_version, kind.name): kind for kind in KINDS}
_LEFT_OUT = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
"""Metadata that only the API server sets, and that `-o yaml` prints."""


@dataclass(frozen=True)
class Manifest:
    """An object as a file has it."""

    kind: Kind
    document: Object

    @property
    def title(self) -> str:
        """Its kind and name, such as `devserver/lab`."""
        return f"{self.kind.name.lower()}/{self.document['metadata']['name']}"


@dataclass(frozen=True)
class Applied(Named):
    """An object that was applied; `did` is `created`, `configured` or `unchanged`."""

    did: str = ""


def read(names: Sequence[str], stdin: TextIO | None = None) -> list[Manifest]:
    """The manifests in files, in a folder's YAML and JSON files, or on `stdin` for the name `-`.

    Raises UsageError if a file cannot be read or contains an object of another kind.
    """
    found: list[Manifest] = []
    for name in names:
        if name == STDIN:
            found += _parsed((stdin or sys.stdin).read(), "standard input")
            continue
        path = Path(name)
        files = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES) if path.is_dir() else []
        for file in files or [path]:
            try:
                found += _parsed(file.read_text(encoding="utf-8"), f"`{file}`")
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is not UTF-8 text"
                raise UsageError(f"cannot read `{file}`: {why}", "name another file") from error
    if not found:
        raise UsageError("no objects to apply", "name a file with -f that has some")
    return found


def apply(
    cluster: Cluster, manifest: Manifest, *, force: bool = False, dry_run: bool = False
) -> Applied:
    """Apply a manifest on the server side.

    Raises:
        FieldConflictError: Others manage some of the fields, and `force` is not set.
        DevctlError: The API server rejects it.
    """
    kind, wanted = manifest.kind, manifest.document
    meta = wanted["metadata"]
    before = cluster.find(kind, meta["name"], meta.get("namespace"))
    if kind == resources.DevServer:
        present = (before or {}).get("spec") or {}
        wanted = wanted | {"spec": completed(cluster, wanted.get("spec") or {}, present)}
    try:
        after = cluster.apply(kind, wanted, dry_run=dry_run, force=force)
    except FieldConflictError as error:
        # Fields that devctl itself has set by another kind of request are no conflict.
        if set(error.fields.values()) != {FIELD_MANAGER}:
            raise
        after = cluster.apply(kind, wanted, dry_run=dry_run, force=True)
    if before is None:
        return Applied(after, "created")
    return Applied(after, "unchanged" if _wish(before) == _wish(after) else "configured")


def _parsed(text: str, source: str) -> Iterator[Manifest]:
    for number, document in enumerate(_documents(text, source), 1):
        if document is not None:
            yield from _manifests(document, f"{source}, document {number}")


def _manifests(document: Any, source: str) -> Iterator[Manifest]:
    if not isinstance(document, dict):
        raise UsageError(f"{source} is not an object", "it needs apiVersion, kind and metadata")
    if document.get("kind") == "List":
        for item in document.get("items") or []:
            yield from _manifests(item, source)
        return
    what = (str(document.get("apiVersion")), str(document.get("kind")))
    kind = _KINDS.get(what)
    if kind is None:
        ours = ", ".join(f"{each.name} ({each.api_version})" for each in KINDS)
        raise UsageError(
            f"{source} is a {what[1]} ({what[0]}), which devctl does not apply",
            f"use `kubectl apply` for it; devctl applies {ours}",
        )
    meta = document.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str) or not meta["name"]:
        raise UsageError(f"{source} has no name", "write it as metadata.name")
    kept = {key: value for key, value in meta.items() if key not in _LEFT_OUT}
    rest = {key: value for key, value in document.items() if key != "status"}
    yield Manifest(kind, rest | {"metadata": kept})


def _wish(found: Object) -> tuple[Any, ...]:
    """The parts of an object that people write."""
    meta = found["metadata"]
    return found.get("spec"), meta.get("labels") or {}, meta.get("annotations") or {}


_HEAD = """\
# The spec of {what}. Save and close to apply it; an empty file, or one without
# changes, changes nothing. Lines that begin with `#` are left out.
"""


def text_of(spec: dict[str, Any], what: str, trouble: str = "", edited: str = "") -> str:
    """The text that the editor shows; after a rejected edit, that one and the reason."""
    body = yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)
    if edited:
        body = re.sub(r"\A(?:#.*\n?)*", "", edited)
    elif not body.replace("\n", "").isprintable():
        # Control characters could command the terminal; and PyYAML misreads U+0085.
        body = yaml.safe_dump(spec, sort_keys=False)
    said = f"#\n# Refused: {one_line(trouble)}\n#\n" if trouble else ""
    return _HEAD.format(what=what) + said + body


def spec_of(text: str) -> dict[str, Any] | None:
    """The spec in an edited text, None if nothing is left; raises UsageError if it is invalid."""
    found, *more = _documents(text, "the edit") or [None]
    if more:
        raise UsageError("the edit holds several documents", "leave out the lines `---`")
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise UsageError("a spec is a mapping of fields", "write `field: value` lines")
    return found


def difference(before: Any, after: Any) -> Any:
    """The merge patch that turns one mapping into another; empty if they are equal.

    >>> difference({"a": 1, "b": {"c": 1, "d": 2}}, {"a": 1, "b": {"c": 3}})
    {'b': {'c': 3, 'd': None}}
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    changed = {
        key: difference(before.get(key), value)
        for key, value in after.items()
        if key not in before or before[key] != value
    }
    return changed | {key: None for key in before if key not in after}


class _Loader(yaml.SafeLoader):
    """YAML as kubectl reads it: what looks like a date is text, as in JSON."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - like its base class
        letter: [(tag, shape) for tag, shape in known if tag != "tag:yaml.org,2002:timestamp"]
        for letter, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _documents(text: str, source: str) -> list[Any]:
    try:
        return list(yaml.load_all(text, _Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{source}{line} is not valid YAML: {why}", "correct it") from error
