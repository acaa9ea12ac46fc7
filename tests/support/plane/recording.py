"""Statuses that the kubelet wrote, less what is one pod's alone; and templates made of them.

A recording holds each status of a pod that differs from the one before it. What differs from pod to
pod is a word between `<` and `>` in it, for which kwok puts in that pod's own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

Thing = dict[str, Any]

FOLDER = Path(__file__).with_name("recordings")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
# Copies of the pod's spec, which the API server or nobody reads.
_LEFT_OUT = {"allocatedResources", "resources", "volumeMounts", "qosClass", "observedGeneration"}
_CONTAINER = "(index .spec.containers 0)"
_ADDRESSES = "PodIPsWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace"
# containerd has several names for one image.
_BY_KEY = {
    "startTime": "<start>",
    "containerID": "containerd://<uid>",
    "image": "<image>",
    "imageID": "<image>",
}
_DISRUPTED = (
    '{{ range .status.conditions }}{{ if eq .type "DisruptionTarget" }}{{ . | toJson }},{{ end }}'
    "{{ end }}"
)
SAYS = "plane.devctl/says"
"""An annotation of a pod: the termination message that its container ends with."""
_SAID = (
    '{{ with .metadata.annotations }}{{ with index . "' + SAYS + '" }}"message": {{ . | Quote }},'
    "{{ end }}{{ end }}"
)
# What stands for each word where it is a whole value, and where it is part of a text.
_TEMPLATES = {
    "<now>": "Now",
    "<start>": "(or .status.startTime Now)",
    "<node-ip>": "(index (NodeIPsWith .spec.nodeName) 0)",
    "<pod-ip>": f"(index ({_ADDRESSES}) 0)",
    "<container>": f"{_CONTAINER}.name",
    "<image>": f"{_CONTAINER}.image",
    "<pod>": ".metadata.name",
    "<namespace>": ".metadata.namespace",
    "<uid>": ".metadata.uid",
}


def normalised(pod: Thing) -> Thing:
    """A pod's status with words in the place of what is this pod's alone."""
    metadata, status = pod["metadata"], pod["status"]
    container = pod["spec"]["containers"][0]
    words = {
        status.get("podIP"): "<pod-ip>",
        status.get("hostIP"): "<node-ip>",
        metadata["uid"]: "<uid>",
        metadata["namespace"]: "<namespace>",
        metadata["name"]: "<pod>",
        container["image"]: "<image>",
    }
    ordered = sorted((word for word in words if word), key=len, reverse=True)

    def of(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            kept = (k for k, v in value.items() if k not in _LEFT_OUT and v is not None)
            return {k: of(value[k], k) for k in kept}
        if isinstance(value, list):
            return [of(item) for item in value]
        return text(value, key) if isinstance(value, str) and value else value

    def text(value: str, key: str) -> str:
        if key in _BY_KEY:
            return _BY_KEY[key]
        if key == "name" and value == container["name"]:
            return "<container>"
        value = _TIME.sub("<now>", value)
        value = value.replace(f"container={container['name']} ", "container=<container> ")
        for word in ordered:
            value = value.replace(word, words[word])
        return value

    found: Thing = of(status)
    return found


def signature(status: Thing) -> str:
    """How far a pod is: what its container does and why; empty before the kubelet has spoken."""
    for container in status.get("containerStatuses", []):
        for state, told in container.get("state", {}).items():
            ready = "" if state != "running" else str(container["ready"]).lower()
            return f"{state}/{told.get('reason', ready)}"
    return ""


SIGNATURE = (
    '(.status.containerStatuses // [])[0] as $c | if $c == null then "" else '
    '($c.state | keys[0]) as $s | $s + "/" + ($c.state[$s].reason // '
    '(if $s == "running" then ($c.ready | tostring) else "" end)) end'
)
"""The same for kwok, as a jq expression of the pod."""


def steps(statuses: list[Thing]) -> list[Thing]:
    """Of statuses in order, the last one of each signature; without what comes round again."""
    found: dict[str, Thing] = {}
    for status in statuses:
        here = signature(status)
        is_round = here in found and here != list(found)[-1]
        if here and not is_round:
            found[here] = status
    return list(found.values())


def template(status: Thing) -> str:
    """What kwok makes this status from, for any pod.

    A kubelet keeps the condition by which somebody else says why he takes the pod away. A test may
    say what the program has written into its termination message.
    """
    text = json.dumps(status, indent=1, sort_keys=True)
    text = text.replace('"conditions": [', f'"conditions": [{_DISRUPTED}', 1)
    if '"message"' not in text.partition('"terminated": {')[2].partition("}")[0]:
        text = text.replace('"terminated": {', f'"terminated": {{ {_SAID}', 1)
    for word, expression in _TEMPLATES.items():
        text = text.replace(f'"{word}"', f"{{{{ {expression} | Quote }}}}")
        text = text.replace(word, f"{{{{ {expression} }}}}")
    return text


def load(name: str) -> list[Thing]:
    """A recording's statuses."""
    found: list[Thing] = json.loads((FOLDER / f"{name}.json").read_text())["statuses"]
    return found
