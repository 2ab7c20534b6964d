"""The command ``ray``: the command ``eagleray`` in Ray's words. The distribution eagleray-ray-compat installs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from eagleray._private import cli
from eagleray._version import API_VERSION, __version__

_LAUNCHER = "there is no cluster launcher: run `eagleray start` on each machine, or `eagleray symmetric-run` on all"
_AUTOSCALER = "there is no autoscaler: `eagleray status` shows nodes, resources and what waits"
_DEBUGGER = "there is no debugger for tasks: run the function in the driver to debug it"

#: Command of Ray → why it is not here, and what to do instead.
REFUSED = {
    **dict.fromkeys(
        ("up", "down", "attach", "exec", "submit", "rsync-up", "rsync-down", "get-head-ip", "get-worker-ips"), _LAUNCHER
    ),
    **dict.fromkeys(("monitor", "kuberay-autoscaler", "kill-random-node"), _AUTOSCALER),
    "check-open-ports": "it would ask a service outside; docs/cluster.md lists the ports that a cluster listens on",
    "cluster-dump": "the logs of a node are in the folder `logs` of its session; `eagleray status` shows where that is",
    "local-dump": "the logs of a node are in the folder `logs` of its session; `eagleray status` shows where that is",
    "cpp": "there is no API for C++; Go programs call the same functions and actors (docs/go.md)",
    "dashboard": "there is no dashboard; `eagleray status` and `eagleray list` show what runs",
    "debug": _DEBUGGER,
    "enable-usage-stats": "Eagle Ray collects no usage statistics",
    "get-auth-token": "`eagleray start --head` says which file the token is in",
    "global-gc": "each process frees what nothing refers to; `eagleray memory` shows who holds objects",
    "metrics": "Prometheus is not started by this command",
    "install-nightly": "there are no nightly builds",
}
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
    if name == "disable-usage-stats":
        print("Eagle Ray collects no usage statistics: there is nothing to disable.")
        sys.exit(0)
    if name in REFUSED:
        print(f"ray {name}: Eagle Ray does not have this command, because {REFUSED[name]}", file=sys.stderr)
        sys.exit(2)
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
