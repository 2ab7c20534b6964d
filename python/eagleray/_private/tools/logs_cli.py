"""The command ``eagleray logs``: lists and shows log files of the nodes, of actors, tasks, workers and jobs."""

from __future__ import annotations

import argparse
import codecs
import json
import sys
import time
from collections.abc import Sequence

from eagleray._private.sections import MARK, is_text
from eagleray._private.session import census, task_logs
from eagleray._private.tools.node_files import Nodes
from eagleray._private.tools.terminal import Failure, Parser, positive
from eagleray.util.state.common import DEFAULT_RPC_TIMEOUT
from eagleray.util.state.exception import RayStateApiException

_KINDS = ("cluster", "actor", "task", "worker", "job")
_PAUSE = 0.3
_PIECE = 1 << 20
_LINES = 1000


def main(args: Sequence[str]) -> int:
    """Runs ``eagleray logs`` with these words and returns its exit status."""
    words = list(args)
    if not words or words[0] not in (*_KINDS, "-h", "--help"):
        words = ["cluster", *words]
    given = parser().parse_args(words)
    try:
        return _run(given)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        return 130
    except Failure as problem:
        print(f"eagleray logs: {problem}", file=sys.stderr)
        return problem.status
    except (RayStateApiException, ConnectionError, OSError) as problem:
        print(f"eagleray logs: {problem}", file=sys.stderr)
        return 1
    except (ValueError, LookupError) as problem:
        print(f"eagleray logs: {problem}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Returns the parser of these commands."""
    made = Parser(prog="eagleray logs", description="Shows log files. Without a kind: those of nodes (cluster).")
    kinds = made.add_subparsers(dest="kind", required=True, parser_class=Parser)
    cluster = kinds.add_parser("cluster", help="files of nodes: lists them, or shows the one that the pattern means")
    cluster.add_argument("pattern", nargs="?", default="*", metavar="PATTERN", help="as worker-*.err")
    cluster.add_argument("--json", action="store_true", help="write the list as JSON")
    actor = kinds.add_parser("actor", help="what an actor has written")
    actor.add_argument("--id", "--actor-id", required=True, metavar="ID", help="the actor's id")
    task = kinds.add_parser("task", help="what a task, or a call of an actor, has written")
    task.add_argument("--id", "--task-id", required=True, metavar="ID", help="the task's id")
    worker = kinds.add_parser("worker", help="what a worker has written")
    worker.add_argument("--pid", required=True, type=positive, help="the worker's process")
    job = kinds.add_parser("job", help="what a submitted job has written")
    job.add_argument("--id", required=True, metavar="NAME", help="the name of the job")
    for one in (actor, task, worker):
        one.add_argument("--err", action="store_true", help="standard error in place of standard output")
    for one in (cluster, actor, task, worker, job):
        one.add_argument("-f", "--follow", action="store_true", help="show what comes until Ctrl-C")
        one.add_argument("--tail", type=int, default=_LINES, metavar="N", help=f"lines; -1: all (default: {_LINES})")
        one.add_argument("-ip", "--node-ip", metavar="IP", help="the node with this address")
        one.add_argument("-id", "--node-id", metavar="ID", help="the node with this id")
        one.add_argument("--encoding", default="utf-8", help="of the file (default: utf-8)")
        one.add_argument("--encoding-errors", default="replace", help="what is done with bytes that are none of it")
        one.add_argument("--interval", type=float, default=_PAUSE, metavar="SECONDS", help="pause of --follow")
        one.add_argument("--timeout", type=float, default=DEFAULT_RPC_TIMEOUT, metavar="SECONDS", help="for answers")
        one.add_argument("--address", help="the session; the one that runs on this machine if not given")
    return made


def _run(given: argparse.Namespace) -> int:
    if given.tail < -1:
        raise Failure(f"--tail: {given.tail} is no number of lines; -1 means all", 2)
    if not 0 < given.interval < 1e6:
        raise Failure("--interval: must be a number of seconds above 0", 2)
    codecs.lookup(given.encoding)
    codecs.lookup_error(given.encoding_errors)
    nodes = Nodes(given.address, given.timeout)
    if given.kind == "cluster":
        return _cluster(given, nodes)
    if given.kind == "job":
        name = f"job-driver-{given.id}.log"
        for node_id in nodes.find(given.node_id, given.node_ip):
            if any(name == one for one, _ in nodes.files(node_id, _literal(name))):
                return _show(given, nodes, node_id, name)
        raise Failure(f"--id {given.id}: no node that lives has the log of such a job; `eagleray job list` shows jobs")
    node_id, pid = _process(given, nodes)
    name = f"worker-{pid}.{'err' if given.err else 'out'}"
    return (_show_task if given.kind == "task" else _show)(given, nodes, node_id, name)


def _cluster(given: argparse.Namespace, nodes: Nodes) -> int:
    chosen = nodes.find(given.node_id, given.node_ip)
    if given.node_id is None and given.node_ip is None and nodes.own is not None:
        chosen = [nodes.own]  # as under Ray: the node of this machine, unless another one is named
    found = [(node_id, *one) for node_id in chosen for one in nodes.files(node_id, given.pattern)]
    if given.pattern != "*" and len(found) == 1 and not given.json:
        node_id, name, _ = found[0]
        return _show(given, nodes, node_id, name)
    if given.follow:
        raise Failure(f"--follow shows one file, and {given.pattern!r} means {len(found)}", 2)
    if given.json:
        print(json.dumps([{"node_id": node_id, "name": name, "size": size} for node_id, name, size in found]))
        return 0
    if not found:
        raise Failure(f"no log file is called {given.pattern!r} there")
    for node_id in dict.fromkeys(node_id for node_id, _, _ in found):
        print(f"Node {node_id} ({nodes.rows[node_id]['node_ip']})")
        for owner, name, size in found:
            if owner == node_id:
                print(f"  {size:>12}  {name}")
    return 0


def _process(given: argparse.Namespace, nodes: Nodes) -> tuple[str, int]:
    """Returns the node and the process that the flags mean."""
    if given.kind == "worker":
        rows = [row for row in census.take(nodes.folder, given.timeout).workers() if row["pid"] == given.pid]
        wanted = nodes.find(given.node_id, given.node_ip)
        places = [row["node_id"] for row in rows if row["node_id"] in wanted]
        if not places and (given.node_id or given.node_ip):
            places = wanted  # a worker that ended long ago
        if len(places) != 1:
            more = "say which with --node-id" if places else "`eagleray list workers` shows them"
            raise Failure(f"--pid {given.pid}: {len(places)} workers of the cluster have this number; {more}")
        return places[0], given.pid
    if given.kind == "actor":
        actors = [row for row in nodes.census.actors() if row["actor_id"] == given.id]
        if not actors:
            raise Failure(f"--id {given.id}: there is no such actor; `eagleray list actors` shows them")
        if not actors[0]["node_id"] or not actors[0]["pid"]:
            raise Failure(f"--id {given.id}: the actor has no process ({actors[0]['state']})")
        return str(actors[0]["node_id"]), int(actors[0]["pid"])
    tasks = [row for row in census.take(nodes.folder, given.timeout, tasks=True).tasks() if row["task_id"] == given.id]
    if not tasks:
        raise Failure(f"--id {given.id}: there is no such task; `eagleray list tasks` shows them")
    if not tasks[0]["node_id"]:
        raise Failure(
            f"--id {given.id}: the worker of the task is not known, or not known any more ({tasks[0]['state']}); "
            "`eagleray logs 'worker-*'` lists the files of workers"
        )
    return str(tasks[0]["node_id"]), int(tasks[0]["worker_pid"])


def _literal(name: str) -> str:
    """Returns a pattern that means this name only."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _show(given: argparse.Namespace, nodes: Nodes, node_id: str, name: str) -> int:
    if not nodes.files(node_id, _literal(name)):
        raise Failure(f"there is no file {name} on node {node_id}: nothing was written")
    offset, text = nodes.tail(node_id, name, given.tail)
    rest = b""  # of a line that may say who writes
    while True:
        _write(given, text)
        if not given.follow:
            return 0
        while True:
            _, text = nodes.piece(node_id, name, offset, _PIECE)
            if text:
                break
            time.sleep(given.interval)
        offset += len(text)
        whole, newline, after = (rest + text).rpartition(b"\n")
        rest = after if not is_text(after) or MARK.encode().startswith(after) else b""
        text = task_logs.without_marks(whole + newline) + after[len(rest) :]


def _show_task(given: argparse.Namespace, nodes: Nodes, node_id: str, name: str) -> int:
    text, _, reading = nodes.of_task(node_id, name, given.id, None, given.follow)
    text = task_logs.last_lines(text, given.tail)
    while True:
        _write(given, text)
        if not given.follow:
            return 0
        time.sleep(given.interval)
        text, _, reading = nodes.of_task(node_id, name, given.id, reading, given.follow)


def _write(given: argparse.Namespace, text: bytes) -> None:
    sys.stdout.write(text.decode(given.encoding, given.encoding_errors))
    sys.stdout.flush()
