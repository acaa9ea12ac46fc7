"""The entry point of `devctl`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Not even `typing` is imported where Ctrl-C would show a traceback.
    from typing import NoReturn


def require_posix(program: str) -> None:
    """End `program`, as typed, where there are no POSIX terminals, signals and file locks."""
    if sys.platform == "win32":
        sys.exit(f"error: {program} does not run on Windows itself: install it in WSL")


def main(program: str = "devctl") -> NoReturn:
    """Run the command line; never returns. Help calls it `program`, as typed."""
    require_posix(program)
    try:
        # Imported here so that Ctrl-C is as silent while modules load as it is later.
        from devctl.cli.main import VARIABLE, cli  # noqa: PLC0415
        from devctl.cli.program import run_program  # noqa: PLC0415

        run_program(cli, program, VARIABLE)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
