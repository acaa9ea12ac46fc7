"""`devctl submit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devctl.cli.egpu.options import loader_image
from devctl.cli.jobs.submit_options import how_it_runs, what_it_gets, what_travels
from devctl.cli.options import command, connected, dry_run_option
from devctl.cli.progress import tell_of_secrets
from devctl.cli.results import Results, changes
from devctl.cli.run_line import SubmitCommand, chosen, variables
from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.runs.command import Command
    from devctl.client.workloads.code import Code
    from devctl.client.workloads.workload import Workload

VOLUME = "10Gi"
"""Size of a volume that is only there for --pull."""


@click.command(cls=SubmitCommand)
@what_it_gets
@how_it_runs
@what_travels
@click.option("-d", "--detach", is_flag=True, help="Print the job's name, and return.")
@dry_run_option
@loader_image
@changes("gpuworkload")
@click.argument(
    "words", metavar="SCRIPT|-m MODULE|-- COMMAND [ARGS...]", nargs=-1, type=click.UNPROCESSED
)
@connected
def submit(
    client: Client,
    words: tuple[str, ...],
    name: str | None,
    results: Results,
    dry_run: str,
    loader_image: str,
    *,
    module: str | None,
    workdir: str | None,
    given: tuple[str, ...],
    env_file: tuple[str, ...],
    pull: str | None,
    detach: bool,
    secrets: bool,
    **asked: Any,
) -> int:
    """Run a script of a project as a GPU job: send, wait, follow, fetch.

    The files that git lists in the script's repository, else in its folder, travel with the job, at
    most 1 MB compressed; it starts in their folder, /workspace. Ctrl-C asks whether to cancel it.
    The exit code is the program's.

    \b
    Examples:
      devctl submit train.py --epochs 3
      devctl submit --gpus 2 --priority high --pull results train.py
      devctl submit --detach --queue devctl-gpu -m package.train
    """
    from devctl.client.runs.command import new_name  # noqa: PLC0415 - heavy

    if detach and pull:
        raise UsageError(
            "--pull waits for the end, and --detach does not",
            "leave out one of them: `devctl jobs pull` fetches later what is on a --volume",
        )
    if results.quiet and not (detach or dry_run != "none"):
        raise UsageError("-o needs --detach", "add --detach, or leave out -o")
    if asked["nodes"] > 1 and (pull or asked["volume"]):
        raise UsageError(
            "a volume is for one pod, and this job has several",
            "leave out --pull and --volume, and mount a shared claim with --mount",
        )
    if pull and Path(pull).exists() and not Path(pull).is_dir():
        raise UsageError(f"`{pull}` is not a folder", "name a folder, existing or new")
    run, arguments = chosen(words, module, workdir, remote=False)
    code = _packed(run, secrets=secrets)
    kept = asked.pop("volume")
    options = {
        **{option: value for option, value in asked.items() if option not in {"mount", "ttl"}},
        "mounts": asked["mount"],
        "keep": asked["ttl"],
        "env": variables(given, env_file, ()),
        "volume": kept or (VOLUME if pull else None),
    }
    name = name or new_name(run.name)
    if dry_run == "none":
        click.echo(f"{code} to send", err=True)
    job = _created(client, name, run, arguments, code, options, dry_run)
    if dry_run != "none":
        results.add(job, "created (server dry run)" if dry_run == "server" else "created (dry run)")
        return 0
    if results.quiet:
        results.add(job, "created")
    elif detach:
        click.echo(name)  # the bare name, for scripts
        click.echo(f"next: {command(f'jobs logs -f {name}')} follows it", err=True)
    if detach:
        return 0
    click.echo(f"gpuworkload/{name} created", err=True)
    return _seen_through(client, name, pull, loader_image, release=not kept)


def _packed(run: Command, *, secrets: bool) -> Code:
    """The project of a command, as it travels."""
    from devctl.client.jobs.files import choose  # noqa: PLC0415 - heavy
    from devctl.client.workloads.code import pack  # noqa: PLC0415

    # What is too large for it is refused with all that it has.
    selection = choose(run.local or Path(), secrets=secrets, large=True)
    tell_of_secrets(selection.secrets, hint=False)
    return pack(selection)


def _created(
    client: Client,
    name: str,
    run: Command,
    arguments: Any,
    code: Code,
    options: dict[str, Any],
    dry_run: str,
) -> Workload:
    """Create the workload; its code first, which it needs as soon as it runs."""
    from devctl.client.runs.command import Kind  # noqa: PLC0415 - heavy
    from devctl.client.settings import image_of_servers  # noqa: PLC0415
    from devctl.client.workloads.submission import TORCHRUN, Submission  # noqa: PLC0415
    from devctl.client.workloads.workload import Workload  # noqa: PLC0415

    options["image"] = options["image"] or image_of_servers(client.cluster)
    several = options["nodes"] > 1
    argv = run.argv(arguments, distributed=several, launcher=())
    launcher = TORCHRUN if several and run.kind is not Kind.COMMAND else ()
    asked = Submission(argv, launcher=launcher, imports=run.imports, code=code.name, **options)
    if dry_run == "client":
        return Workload(asked.manifest(name))
    asked.manifest(name)
    if dry_run == "none":
        client.workloads.send(code)
    return client.workloads.submit(name, asked, dry_run=dry_run == "server")


def _seen_through(client: Client, name: str, pull: str | None, image: str, *, release: bool) -> int:
    """Show a job until it ends, fetch what it wrote, and give its volume back."""
    from devctl.cli.jobs.attend import failure, see_it_through  # noqa: PLC0415 - heavy
    from devctl.cli.jobs.pull import fetch  # noqa: PLC0415

    ended = see_it_through(client, name)
    if pull:
        fetched = fetch(client, name, pull, image)
        if release and not (fetched.left_out or fetched.changed):
            client.workloads.release(ended)
    if error := failure(ended):
        raise error
    return 0
