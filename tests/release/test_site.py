"""The documentation's site."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


def test_the_site_is_built_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    words = ["--fail-on-warning", "--keep-going", "--quiet", "--builder", "html"]
    # The site's own theme has all pages in the navigation of each: three quarters of the time.
    words += ["--define", "html_theme=basic"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, REPOSITORY / "docs", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    create = (tmp_path / "reference/commands/devctl-create.html").read_text()
    assert "--nproc-per-node" in create
    server = (tmp_path / "reference/fields/devserver.html").read_text()
    assert "spec.distributed.worldSize" in server
    workers = (tmp_path / "reference/gpu-workers.html").read_text()
    assert "POST /gpu-workers/jobs/{job_id}/cancel" in workers
