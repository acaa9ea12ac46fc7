"""What servers get that ask for nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devctl.client.doctor.finding import Finding, failed, ok, warning
from devctl.client.flavors import Flavors
from devctl.client.settings import IMAGE, NAME, NAMESPACE, default_image

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster


def default_flavor(cluster: Cluster) -> Finding:
    """Whether there is exactly one default flavor, and room for it."""
    flavors = Flavors(cluster).list()
    if not flavors:
        return failed(
            "flavor",
            "there is no flavor: no server can be made",
            "have an administrator make a DevServerFlavor; config/samples has some",
        )
    defaults = [flavor for flavor in flavors if flavor.default]
    if not defaults:
        there = ", ".join(f"`{flavor.name}`" for flavor in flavors[:5])
        return warning(
            "flavor",
            f"none of {len(flavors)} flavors is the default",
            f"name one with --flavor: {there}",
        )
    if len(defaults) > 1:
        names = " and ".join(f"`{flavor.name}`" for flavor in defaults)
        return failed(
            "flavor",
            f"{names} are all the default: servers that name none are refused",
            "have an administrator set `default: false` on all but one",
        )
    [flavor] = defaults
    if flavor.schedulable is False:
        detail = f": {flavor.message}" if flavor.message else ""
        return warning(
            "flavor",
            f"no node can hold a server of the default flavor `{flavor.name}`{detail}",
            "name another one with --flavor: `devctl flavors` shows them",
        )
    return ok("flavor", f"default `{flavor.name}`, {len(flavors)} in all")


def image(cluster: Cluster) -> Finding:
    """Whether there is an image for servers that name none."""
    if own := os.environ.get(IMAGE):
        return ok("image", f"`{own}`, from {IMAGE}")
    if common := default_image(cluster):
        return ok("image", f"`{common}`")
    return warning(
        "image",
        "the cluster has no image for servers that name none",
        f"name one with --image or {IMAGE}, or have an administrator set `image` in ConfigMap "
        f"`{NAME}` of namespace `{NAMESPACE}`",
    )
