"""The command ``ray``: the command ``eagleray`` in Ray's words. The distribution eagleray-ray-compat installs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from eagleray._private import cli
from eagleray._private.tools import refused
from eagleray._version import API_VERSION, __version__

#: Command of Ray → command of eagleray, where they differ.
_NAMES = {"healthcheck": "health-check", "rsync_up": "rsync-up", "rsync_down": "rsync-down", "kill_actor": "kill-actor"}
#: Short flags of Ray, by command → the flag of eagleray.
_SHORT = {"stop": {"-f": "--force", "-g": "--grace-period"}}


def main() -> None:
    """Runs the command: translates what Ray says otherwise, and says why where there is none."""
    args = sys.argv[1:]
    if args == ["--version"]:
        print(f"ray, version {API_VERSION} (the API; Eagle Ray {__version__})")
        sys.exit(0)
    sys.argv[1:] = _translated(args)
    name = next(iter(sys.argv[1:]), "")
    refused.refuse("ray", name)
    cli.main()


def _translated(args: Sequence[str]) -> list[str]:
    if not args:
        return []
    name = _NAMES.get(args[0], args[0])
    short = _SHORT.get(name, {})
    return [name, *(_long(arg, short) for arg in args[1:])]


def _long(arg: str, short: dict[str, str]) -> str:
    """Returns a flag as eagleray has it; ``-g5`` becomes ``--grace-period=5``."""
    if arg in short:
        return short[arg]
    if arg[:2] in short and not arg.startswith("--"):
        return f"{short[arg[:2]]}={arg[2:]}"
    return arg
