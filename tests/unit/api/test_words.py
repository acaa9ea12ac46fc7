"""Words that are stored in clusters: a changed one orphans what has the old one."""

from __future__ import annotations

import re

from devctl.api import labels, node_activity
from devctl.api.devserver import Condition, FlavorCondition, Phase
from devctl.api.lifecycle_policy import PolicyCondition

_QUALIFIED = re.compile(r"devops\.yourcompany\.com/[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def test_labels_and_annotations_have_the_groups_prefix_and_a_name_of_their_own() -> None:
    names = ("DEVSERVER", "FLAVOR", "FLAVOR_GENERATION", "MADE_FROM", "WAKE", "OWNER")
    keys = [getattr(labels, name) for name in names]
    assert len(set(keys)) == len(keys)
    assert all(_QUALIFIED.fullmatch(key) for key in keys)


def test_the_words_of_a_status() -> None:
    assert sorted(Phase) == ["Failed", "Pending", "Running", "Starting", "Stopped", "Stopping"]
    assert sorted(Condition) == [
        "Applied",
        "Expiring",
        "FlavorOutdated",
        "Idle",
        "Ready",
        "RestartRequired",
        "RuntimeEnding",
    ]
    assert sorted(FlavorCondition) == ["DefaultConflict", "Schedulable"]
    assert sorted(PolicyCondition) == ["DefaultConflict", "FlavorsFound"]


def test_the_words_of_a_nodes_activity() -> None:
    assert (node_activity.KIND, node_activity.PLURAL) == ("NodeActivity", "nodeactivities")
    assert sorted(node_activity.Signal) == [
        "CPU",
        "Disk",
        "GPU",
        "Jupyter",
        "Network",
        "Probe",
        "Process",
        "Terminal",
    ]
