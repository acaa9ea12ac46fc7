"""Names of a team's shared volume: the claim with its files, and what members mount.

Members cannot mount a claim of another namespace, so each gets a volume and a claim of their own
that lead to the same files.
"""

from __future__ import annotations

SPACE = "devctl-teams"
"""Namespace of the claims with the files of teams; no user has rights in it."""

_CLAIM, _VOLUME = "team-", "devctl-team."


def claim_name(team: str) -> str:
    """The claim with a team's files in SPACE, and of each member's in the member's namespace.

    >>> claim_name("vision")
    'team-vision'
    """
    return f"{_CLAIM}{team}"


def volume_name(team: str, namespace: str) -> str:
    """The PersistentVolume of a member's claim; injective, since neither name has dots.

    >>> volume_name("vision", "dev-alice")
    'devctl-team.vision.dev-alice'
    """
    return f"{_VOLUME}{team}.{namespace}"
