"""The destinations that a user's pods may reach outside of their namespace."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from apply.errors import ApplyError

from devctl.api.applied import Reason

# Pods, services and nodes have private addresses (RFC 1918, RFC 6598, RFC 4193), or others that are
# not routed: local clusters those of RFC 2544, as EKS' custom networking does, GKE also RFC 1112's.
# 169.254.0.0/16 and fd00:ec2::254, in fc00::/7, answer with credentials of the node in a cloud.
_DENIED = (
    "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,198.18.0.0/15,240.0.0.0/4,"
    "169.254.0.0/16,fc00::/7,fe80::/10"
)
_INTERNET = (ip_network("0.0.0.0/0"), ip_network("::/0"))


def egress(settings: Mapping[str, str]) -> list[dict[str, Any]]:
    """The `ipBlock`s of a NetworkPolicy, from devctl's settings.

    >>> egress({"networkInternet": "false", "networkAllow": "10.0.0.5/32"})
    [{'cidr': '10.0.0.5/32'}]

    Raises:
        ApplyError: A setting is not a list of address ranges.
    """
    allowed = _ranges(settings, "networkAllow", "")
    blocks: list[dict[str, Any]] = [{"cidr": str(network)} for network in allowed]
    if settings.get("networkInternet", "true") == "true":
        denied = _ranges(settings, "networkDeny", _DENIED)
        blocks += [
            {"cidr": str(everything), "except": [str(n) for n in denied if n.version == v]}
            for everything in _INTERNET
            for v in [everything.version]
        ]
    return blocks


def _ranges(settings: Mapping[str, str], key: str, default: str) -> list[IPv4Network | IPv6Network]:
    texts = [text.strip() for text in settings.get(key, default).split(",")]
    try:
        return [ip_network(text) for text in texts if text]
    except ValueError as error:
        message = f"setting `{key}` of devctl-settings must list ranges such as 10.0.0.0/8: {error}"
        raise ApplyError(Reason.INVALID, message) from error
