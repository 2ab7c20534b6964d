"""Ray's commands that Eagle Ray does not have, and what to do instead."""

from __future__ import annotations

import sys

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
    "global-gc": "each process frees what nothing refers to; `eagleray memory` shows who holds objects",
    "metrics": "Prometheus is not started by this command; docs/metrics.md says how it finds a cluster",
    "install-nightly": "there are no nightly builds",
}


def refuse(program: str, name: str) -> None:
    """Ends the program with status 2 and the reason if it was asked for a command that is only Ray's."""
    if name == "disable-usage-stats":
        print("Eagle Ray collects no usage statistics: there is nothing to disable.")
        sys.exit(0)
    if name in REFUSED:
        print(f"{program} {name}: Eagle Ray does not have this command, because {REFUSED[name]}", file=sys.stderr)
        sys.exit(2)
