"""`k8shazgpu vllm run` in a checkout with changes of every kind.

The images hold a stand-in for vLLM, which says so: tests/vllm has vLLM itself.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from support.servers import wait_until
from support.vllm_checkout import change, commit, git, link, tree, write
from support.vllm_place import completed
from support.vllm_work import IMAGES, MAIN, OTHER, checkout, items, stand_in, vllm, work
from unit.cli.test_k8shazgpu import SERVE

if TYPE_CHECKING:
    from pathlib import Path

    from support.vllm_place import VllmPlace

__all__ = ["checkout", "items", "stand_in", "vllm", "work"]  # fixtures

# What the checkout lacks and the image has built comes from there.
BUILT = {b"vllm/_version.py": link("/usr/lib/python3/dist-packages/vllm/_version.py")}
STANDS_IN = "stand-in for vLLM, not vLLM"
SMALL = ("--cpu", "50m", "--memory", "128Mi")


def test_the_tree_in_the_pod_is_the_tree_here(vllm: VllmPlace, checkout: Path) -> None:
    text = (checkout / "vllm/answer.py").read_text()
    write(checkout, {"vllm/answer.py": text.replace("as the image has it", "as I have it")})
    change(checkout)
    here = tree(checkout)
    base = git(checkout, "rev-parse", "upstream/main")
    line = ("vllm", "run", "--name", "checkout-demo", *SMALL, "--", *shlex.split(SERVE))
    done = vllm.user(*line, cwd=checkout)
    shown = done.stderr.decode()
    assert done.returncode == 0, shown
    for fact in (
        f"Directory:     {checkout}",
        "Remote:        git@git.example:me/vllm.git",
        "Branch:        feature",
        f"Commit:        {git(checkout, 'rev-parse', 'HEAD')[:12]}",
        f"Merge base:    {base[:12]} with upstream/main",
        f"Image:         {IMAGES}:{base}",
        "Local changes: ",
    ):
        assert f"  {fact}" in shown, shown
    vllm.up("checkout-demo")

    assert vllm.tree("checkout-demo", f"/workspace/{MAIN}") == here | BUILT
    with vllm.forwarded("checkout-demo") as client:
        assert client.get("/v1/models").json()["served_by"] == STANDS_IN
        assert client.get("/version").json()["version"] == "0.0.0+stand.in"
        said = completed(client, "facebook/opt-125m", "What is the capital of Vermont?")
    assert said == "What is the capital of Vermont? (as I have it)"

    # The very same again, whatever the checkout has become.
    git(checkout, "checkout", "-q", "--force", "main")
    git(checkout, "clean", "-q", "-f", "-d")
    vllm.user.must("vllm", "replay", "checkout-demo", "--name", "again", cwd=checkout)
    vllm.up("again")
    assert vllm.tree("again", f"/workspace/{MAIN}") == here | BUILT
    vllm.user.must("cleanup", "--name", "checkout-demo", "--name", "again")
    wait_until(lambda: vllm.gone("checkout-demo") and vllm.gone("again"), "both are gone")


def test_large_changes_travel_in_a_volume(vllm: VllmPlace, checkout: Path) -> None:
    change(checkout)
    # More than a ConfigMap holds, and no compression makes it less.
    write(checkout, {"large.bin": os.urandom(3 << 20)})
    here = tree(checkout)
    line = ("vllm", "run", "--name", "large", *SMALL, "--", "vllm", "serve", "model")
    vllm.user.must(*line, cwd=checkout, timeout=240)
    vllm.up("large", 180)
    assert vllm.spec("large")["checkout"]["capsule"].keys() == {"digest", "persistentVolumeClaim"}
    assert vllm.tree("large", f"/workspace/{MAIN}") == here | BUILT
    vllm.user.must("cleanup", "--name", "large")


def test_a_command_waits_for_the_commit_of_its_checkout(vllm: VllmPlace, checkout: Path) -> None:
    change(checkout)
    line = ("vllm", "run", "--name", "astray", "--repo-name", OTHER, *SMALL)
    vllm.user.must(*line, "--", "vllm", "serve", "model", cwd=checkout)
    vllm.run("astray").wait("Starting", "BuildingCheckout", seconds=120)
    base = git(checkout, "rev-parse", "upstream/main")
    logs = ("-n", vllm.name, "logs", "astray-vllm-pod", "--container", "checkout")
    # Mirrors are behind by up to five minutes.
    waits = f"waiting for the repository to have commit {base}"
    wait_until(lambda: waits in vllm.kubectl(*logs), "it says what it waits for")
    pod = vllm.run("astray").pod
    assert pod
    assert all("waiting" in each["state"] for each in pod["status"]["containerStatuses"])
    vllm.user.must("cleanup", "--name", "astray")
    wait_until(lambda: vllm.gone("astray"), "it ends at once")


def test_secrets_stay_here(vllm: VllmPlace, checkout: Path) -> None:
    write(checkout, {".env": "x=1\n", "files/staged": f"token = 'ghp_{'a' * 36}'\n"})
    commit(checkout)
    line = ("vllm", "run", "--name", "told", *SMALL, "--", "vllm", "serve", "model")
    said = vllm.user.fails(2, *line, cwd=checkout)
    assert "`.env`" in said
    assert "`files/staged`" in said
    assert vllm.gone("told")
