"""Which paths of the cache are mounted, by the kernel's table and the runtime's paths."""

from __future__ import annotations

import pytest
from devctl_cache_agent.mounts import inside, mounted
from devctl_cache_agent.problems import CacheError

CACHE, PODS = "/var/lib/canhazgpu/cache", "/var/lib/kubelet/pods"


def line(device: str, root: str, point: str) -> str:
    return f"36 35 {device} {root} {point} rw,noatime shared:1 - ext4 /dev/vda1 rw"


def table(*lines: str, root: str = CACHE) -> str:
    return "\n".join([line("0:50", "/", "/"), line("8:1", root, CACHE), *lines])


def test_a_volume_of_the_cache_is_seen() -> None:
    volume = line("8:1", f"{CACHE}/git/a", f"{PODS}/uid/volumes/kubernetes.io~local-volume/v")
    assert mounted(table(volume), CACHE, PODS) == {"git/a"}


def test_a_sub_path_is_seen_and_its_name_may_have_blanks() -> None:
    part = line("8:1", f"{CACHE}/models/a\\040b", f"{PODS}/uid/volume-subpaths/v/main/0")
    assert mounted(table(part), CACHE, PODS) == {"models/a b"}


def test_the_cache_may_be_a_disk_of_its_own() -> None:
    volume = line("8:1", "/git/a", f"{PODS}/uid/volumes/x/v")
    assert mounted(table(volume, root="/"), CACHE, PODS) == {"git/a"}


def test_a_mount_of_a_folder_above_shows_all() -> None:
    volume = line("8:1", "/var/lib", f"{PODS}/uid/volumes/x/v")
    assert mounted(table(volume), CACHE, PODS) == {""}


@pytest.mark.parametrize(
    "other",
    [
        line("8:2", f"{CACHE}/git/a", f"{PODS}/uid/volumes/x/v"),
        line("8:1", f"{CACHE}/git/a", "/mnt"),
        line("8:1", f"{CACHE}-other/git/a", f"{PODS}/uid/volumes/x/v"),
        line("8:1", "/var/lib/kubelet/pods", PODS),
        "garbage",
        "",
    ],
)
def test_other_mounts_are_not_of_the_cache(other: str) -> None:
    assert mounted(table(other), CACHE, PODS) == set()


def test_without_the_cache_in_the_table_what_is_mounted_is_unknown() -> None:
    with pytest.raises(CacheError, match="the cache is no mount of the agent's"):
        mounted(line("8:1", "/", "/"), CACHE, PODS)


def test_paths_of_the_node_are_seen_from_the_cache() -> None:
    found = inside([f"{CACHE}/git/a/", "/etc", f"{CACHE}x", f"{CACHE}/models"], CACHE)
    assert found == {"git/a", "models"}
    assert inside(["/"], CACHE) == inside([CACHE], CACHE) == inside(["/var"], CACHE) == {""}
