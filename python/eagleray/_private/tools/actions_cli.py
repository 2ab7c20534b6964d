"""The commands ``eagleray kill-actor``, ``stack`` and ``timeline``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence

from eagleray._private.session import census
from eagleray._private.tools.terminal import Colours, Failure, Parser, add_log_flags
from eagleray._private.worker import stacks
from eagleray.util.state.common import DEFAULT_RPC_TIMEOUT
from eagleray.util.state.exception import RayStateApiException

_FOLDER = "EAGLERAY_TRACE"
_ANSWER_SECONDS = 2.0
_QUIET_SECONDS = 0.05
_MOST = 16 << 20


def main(args: Sequence[str]) -> int:
    """Runs one of the commands and returns its exit status."""
    given = parser().parse_args(args)
    try:
        return int(given.run(given))
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Failure as problem:
        print(f"eagleray {given.command}: {problem}", file=sys.stderr)
        return problem.status
    except (RayStateApiException, ConnectionError, OSError) as problem:
        print(f"eagleray {given.command}: {problem}", file=sys.stderr)
        return 1
    except (ValueError, RuntimeError) as problem:
        print(f"eagleray {given.command}: {problem}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Returns the parser of these commands."""
    made = Parser(prog="eagleray")
    commands = made.add_subparsers(dest="command", required=True, parser_class=Parser)
    kill = commands.add_parser("kill-actor", help="end a named actor")
    kill.add_argument("actor", nargs="?", metavar="NAME", help="the name of the actor")
    kill.add_argument("--name", metavar="NAME", help="the same")
    kill.add_argument("--namespace", metavar="NAMESPACE", help="in which it has that name")
    kill.add_argument("--force", action="store_true", help="at once; else after the calls that it has got")
    kill.add_argument("--no-restart", action="store_true", help="with --force: it does not come back")
    kill.set_defaults(run=_kill)

    stack = commands.add_parser("stack", help="show what the workers of this machine's node do now")
    stack.add_argument("--pid", type=int, help="of this worker only")
    stack.add_argument("--json", action="store_true", help="write JSON")
    stack.set_defaults(run=_stack)

    timeline = commands.add_parser("timeline", help="write when calls ran, for Chrome's trace viewer and Perfetto")
    timeline.add_argument(
        "--trace",
        metavar="DIR",
        help=f"the folder with what programs recorded, with more details (default: ${_FOLDER})",
    )
    timeline.add_argument("-o", "--output", metavar="FILE", help="where to write it; - is the standard output")
    timeline.set_defaults(run=_timeline)

    for command in (kill, stack, timeline):
        command.add_argument("--address", help="the session; the one that runs on this machine if not given")
        command.add_argument("--timeout", type=float, default=DEFAULT_RPC_TIMEOUT, metavar="SECONDS")
        add_log_flags(command)
    return made


def _kill(given: argparse.Namespace) -> int:
    name = given.name or given.actor
    if not name or (given.name and given.actor and given.name != given.actor):
        raise Failure("name one actor: eagleray kill-actor --name NAME [--namespace NAMESPACE]", 2)
    if given.no_restart and not given.force:
        raise Failure("--no-restart needs --force: an actor that ends by itself does not come back anyway", 2)
    import eagleray

    folder = census.find(given.address)
    eagleray.init(address=folder, namespace="_ray_internal_cli", log_to_driver=False, configure_logging=False)
    try:
        actor = eagleray.get_actor(name, namespace=given.namespace)
    except ValueError:
        rows = [row for row in census.take(folder, given.timeout, head=True).actors() if row["name"] == name]
        places = sorted({str(row["ray_namespace"]) for row in rows if row["state"] != "DEAD"})
        where = f"; there is one in the namespace {', '.join(places)}: give it with --namespace" if places else ""
        raise Failure(f"no actor is called {name!r} there{where}") from None
    if given.force:
        eagleray.kill(actor, no_restart=given.no_restart)
        print(f"Actor killed (force): {name}")
    else:
        actor.__ray_terminate__.remote()
        _await_end(actor, given.timeout)
        print(f"Requested graceful termination for actor: {name}")
    eagleray.shutdown()
    return 0


def _await_end(actor: object, timeout: float) -> None:
    """Waits a moment, so that the request has left before this process ends."""
    import eagleray

    with contextlib.suppress(Exception):  # it has ended, or is busy
        eagleray.get(actor.__ray_ready__.remote(), timeout=min(timeout, 1.0))  # type: ignore[attr-defined]


def _stack(given: argparse.Namespace) -> int:
    folder = census.find(given.address)
    found = census.take(folder, given.timeout)
    own = {raw["NodeID"].hex() for raw in found.raw["Nodes"] or () if raw["SessionDir"] == folder}
    pids = sorted(row["pid"] for row in found.workers() if row["is_alive"] and row["node_id"] in own and row["pid"])
    pids = [pid for pid in pids if _is_worker(pid)]
    if given.pid is not None:
        if given.pid not in pids:
            raise Failure(f"--pid {given.pid}: no worker of this machine's node; `eagleray list workers` shows them")
        pids = [given.pid]
    if not pids and not given.json:
        print("No worker runs on this machine's node.")
    texts = {pid: _stack_of(pid) for pid in pids}
    if given.json:
        print(json.dumps([{"pid": pid, "command": _command(pid), "stack": text} for pid, text in texts.items()]))
        return 0
    colour = Colours(given.log_color)
    for pid, text in texts.items():
        print(colour(f"Process {pid}: {_command(pid)}", "bold"))
        print("\n".join(f"  {line}" for line in text.splitlines()), "\n")
    return 0


def _is_worker(pid: int) -> bool:
    """Reports whether a process takes the signal for its stack: any other one would end."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (stacks.SIGNAL - 1) & 1) and _place(pid) is not None
    return False


def _place(pid: int) -> str | None:
    """Returns the file into which a worker writes its stack."""
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{name}").startswith(f"/memfd:{stacks.NAME}"):
                    return f"/proc/{pid}/fd/{name}"
    return None


def _stack_of(pid: int) -> str:
    place = _place(pid)
    if place is None:
        return "(it has just ended)"
    try:
        os.truncate(place, 0)
        os.kill(pid, signal.Signals(stacks.SIGNAL) if stacks.SIGNAL in set(signal.Signals) else stacks.SIGNAL)
        end, size, since = time.monotonic() + _ANSWER_SECONDS, 0, time.monotonic()
        while time.monotonic() < end:
            now = os.stat(place).st_size
            if now != size:
                size, since = now, time.monotonic()
            elif size and time.monotonic() - since > _QUIET_SECONDS:
                break
            time.sleep(0.005)
        with open(place, "rb") as file:
            text = file.read(_MOST).decode(errors="replace").strip()
    except (OSError, ProcessLookupError) as problem:
        return f"(it has just ended: {problem})"
    return text or f"(it has not answered within {_ANSWER_SECONDS:g} s: it is stopped, or the machine is busy)"


def _command(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read(4096).replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def _timeline(given: argparse.Namespace) -> int:
    folder = given.trace or os.environ.get(_FOLDER)
    if folder and not os.path.isdir(folder):
        raise Failure(f"--trace: {folder!r} is no folder", 2)
    from eagleray._private.tools import timeline

    session = census.find(given.address)
    if folder:
        rows = census.take(session, given.timeout, head=True)
        own = [raw["Address"] for raw in rows.raw["Nodes"] or () if raw["SessionDir"] == session]
        events = timeline.events(folder, str(own[0]) if own else "127.0.0.1", session)
        if not events:
            raise Failure(f"{folder} has no calls of the session {session}: was the program started with {_FOLDER}?")
    else:
        events = timeline.remembered(census.take(session, given.timeout, tasks=True))
    text = json.dumps(events)
    if given.output == "-":
        print(text)
        return 0
    path = given.output or os.path.join(session, time.strftime("ray-timeline-%Y-%m-%d_%H-%M-%S.json", time.localtime()))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(
        f"Trace file written to {path}: {len(events)} events. Open it in chrome://tracing or https://ui.perfetto.dev."
    )
    return 0
