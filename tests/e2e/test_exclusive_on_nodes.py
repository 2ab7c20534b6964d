"""Exclusive actors on two nodes: no process begins a call after the actor's next process has begun one."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until
from two_nodes import LIMIT, TwoNodes

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with TwoNodes('--system-config={"node_timeout": 5}') as made:
        yield made


def below(pid: int) -> list[int]:
    """A process with all that it has started, and what that has started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def send(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)


def gone(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


KINDS = {"plain", "threads", "async", "items"}

# Each call is a line: kind, token, pid, time. The driver keeps many calls of each actor waiting, so that a process that
# goes on where it must not begins one at once. The line is the first thing that a call does.
PROGRAM = """
    import json, os, sys, time
    import eagleray as ray

    FOLDER, PAUSE = {folder!r}, {pause}
    ray.init()
    there = next(n["NodeID"] for n in ray.nodes() if n["Alive"] and n["NodeName"] == "two")

    def make(kind):
        def opened():
            return os.open(os.path.join(FOLDER, "calls"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        def write(file):
            token = ray.get_runtime_context().get_actor_incarnation()
            line = f"{{kind}} {{token}} {{os.getpid()}} {{time.clock_gettime(time.CLOCK_BOOTTIME)}}\\n"
            os.write(file, line.encode())
            return token

        class Where:
            def node(self):
                return ray.get_runtime_context().get_node_id()

        class Plain(Where):
            def __init__(self):
                self.file = opened()

            def call(self):
                token = write(self.file)
                time.sleep(PAUSE)
                return token

        class Async(Where):
            def __init__(self):
                self.file = opened()

            async def call(self):
                token = write(self.file)
                time.sleep(PAUSE)
                return token

        class Items(Where):
            def __init__(self):
                self.file = opened()

            def call(self):
                for _ in range(300):
                    token = write(self.file)  # the first thing that a step does
                    time.sleep(PAUSE)
                    yield token

        return {{"plain": Plain, "threads": Plain, "async": Async, "items": Items}}[kind]

    actors = {{}}
    for kind in ("plain", "threads", "async", "items"):
        options = dict(num_cpus=0, exclusive=True, max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD")
        if kind == "threads":
            options["max_concurrency"] = 3
        made = ray.remote(**options)(make(kind))
        while ray.get((actor := made.remote()).node.remote()) != there:
            ray.kill(actor)
        actors[kind] = actor

    def ready(kind):
        ref = actors[kind].call.remote()
        return ray.get(next(ref) if kind == "items" else ref)

    print(json.dumps([ready(kind) for kind in actors]), flush=True)
    waiting = {{kind: [] for kind in actors}}
    while True:
        for kind, refs in waiting.items():
            while len(refs) < (3 if kind == "items" else 600):
                made = actors[kind].call.remote()
                refs.append(made.completed() if kind == "items" else made)
            done, waiting[kind] = ray.wait(refs, num_returns=len(refs), timeout=0.05)
            ray.get(done)
"""


def lines(folder: Path) -> list[tuple[str, int, int, float]]:
    rows = [line.split() for line in (folder / "calls").read_text().splitlines()]
    return [(kind, int(token), int(pid), float(at)) for kind, token, pid, at in rows]


#: So many calls of an actor can be between the moment in which the core lets them begin and their first line. A process
#: that is stopped just then executes those lines when it goes on.
BEGUN = {"plain": 1, "threads": 3, "async": 1, "items": 1}


def without_begun(rows: list[tuple[str, int, int, float]], resumed: float) -> list[tuple[str, int, int, float]]:
    """The rows without those of calls that had begun when their process was stopped, and went on when it did."""
    left = dict(BEGUN)
    kept = []
    for row in rows:
        kind, token, _, at = row
        if token == 1 and resumed <= at < resumed + 0.1 and left[kind] > 0:
            left[kind] -= 1
        else:
            kept.append(row)
    return kept


def check(rows: list[tuple[str, int, int, float]]) -> dict[str, list[int]]:
    """The processes of each actor in order. No call of one begins after a call of a later one."""
    newest: dict[str, int] = {}
    owners: dict[tuple[str, int], int] = {}
    for kind, token, pid, at in rows:
        assert token >= newest.get(kind, 0), f"{kind}: token {token} executes a call at {at} after token {newest[kind]}"
        newest[kind] = token
        assert owners.setdefault((kind, token), pid) == pid, f"{kind}: two processes have token {token}"
    return {
        kind: [owners[kind, token] for token in range(1, newest[kind] + 1) if (kind, token) in owners]
        for kind in newest
    }


@pytest.mark.parametrize("what", ["the whole node", "the daemon"])
def test_a_node_is_stopped_and_goes_on_after_the_restart(cluster: TwoNodes, tmp_path: Path, what: str) -> None:
    first, second = cluster.first, cluster.second
    until(lambda: first("status").count("alive") == 2)
    driver = first.popen(PROGRAM.format(folder=str(tmp_path), pause=0.002 if what == "the whole node" else 0.05))
    try:
        assert driver.stdout is not None and driver.stdin is not None
        said = driver.stdout.readline()
        assert said == "[1, 1, 1, 1]\n", said
        daemon, warden = second.pid("pid"), second.pid("warden.pid")
        until(lambda: all(sum(row[0] == kind for row in lines(tmp_path)) > 10 for kind in KINDS))
        processes = check(lines(tmp_path))
        stopped = below(warden) if what == "the whole node" else [daemon]
        send(stopped, signal.SIGSTOP)
        began = time.clock_gettime(time.CLOCK_BOOTTIME)
        try:
            until(lambda: {kind for kind, token, _, _ in lines(tmp_path) if token == 2} == KINDS, "a restart", 40)
        finally:
            resumed = time.clock_gettime(time.CLOCK_BOOTTIME)
            send(stopped, signal.SIGCONT)
        until(lambda: all(gone(pid) for pids in processes.values() for pid in pids), "the end of the processes", 30)
        rows = lines(tmp_path)
        if what == "the whole node":
            rows = without_begun(rows, resumed)
        check(rows)
        last = max(at for _, token, _, at in rows if token == 1) - began
        again = min(at for _, token, _, at in rows if token == 2) - began
        assert last < (0.1 if what == "the whole node" else 5.1), last
        assert 5.4 < again < 15, again
        if what == "the daemon":
            assert last > 4, last  # they work on for as long as they may
    finally:
        driver.kill()
        out, _ = driver.communicate(timeout=LIMIT)
    assert "Traceback" not in out, out


KILLS = """
    import os
    import eagleray as ray

    ray.init()

    @ray.remote(num_cpus=0, exclusive=True, max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD")
    class Actor:
        def call(self):
            token = ray.get_runtime_context().get_actor_incarnation()
            with open({path!r}, "a") as file:
                file.write(f"plain {{token}} {{os.getpid()}} 0\\n")
            return ray.get_runtime_context().get_node_id()

    actor = Actor.remote()
    nodes = {{ray.get(actor.call.remote())}}
    for _ in range(10):
        waiting = [actor.call.remote() for _ in range(50)]
        ray.kill(actor, no_restart=False)
        nodes.add(ray.get(actor.call.remote()))
    print(len(nodes))
"""


def test_an_actor_that_is_killed_restarts_elsewhere_when_its_process_is_gone(cluster: TwoNodes, tmp_path: Path) -> None:
    until(lambda: cluster.first("status").count("alive") == 2)
    assert cluster.first.python(KILLS.format(path=str(tmp_path / "calls"))) == "2\n"
    assert len(check(lines(tmp_path))["plain"]) >= 10
