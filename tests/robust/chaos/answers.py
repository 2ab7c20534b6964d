"""Changes of the cluster's state whose answers are lost, while the head is killed: each is applied once.

``python -m chaos.answers --seed 1`` in ``tests/robust``. A program asks for changes from a node that hears nothing of
the head: what it asks arrives, and the answers do not. When the head has made the changes, it is killed, and the next
head goes on with its state. The node asks that one again for all that has no answer. Each change has to be there once,
and its answer has to be that of a change that was made for the first time: the key was new, so many keys were deleted,
the actor has lost one life.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import eagleray as ray
import msgpack
from net.lab import ROBUST, Lab, unavailable
from processes import until

from chaos.nodes import SMALL
from chaos.nodesleft import left

ROUNDS = 3
#: In each round so many keys are put, as many groups of three are deleted, and as many actors are killed.
KEYS, ACTORS = 3, 2
#: A node is dead after so much silence; the silence ends long before that.
TIMEOUT_S = 30
LIMIT_S = 90.0
SPACE = "answers"


def rpc(method: str, **body: Any) -> Any:
    """Asks the cluster's state; the answer may be late."""
    from eagleray._private.state import process

    words = {"ns": SPACE, **body}
    return msgpack.unpackb(process.require().hot.rpc(method, msgpack.packb(words), int(LIMIT_S * 1000)))


@ray.remote(num_cpus=0, resources={"b": 0.1}, max_restarts=-1, max_task_retries=-1)
class Lives:
    def life(self) -> int:
        """How many lives it has had."""
        from eagleray._private.context import here

        return int(here.actor.incarnation)


@ray.remote(num_cpus=0, resources={"b": 0.01})
class Asker:
    """Asks for one change at a time: a process waits for the answer before it asks for the next one."""

    def put(self, key: bytes) -> Any:
        return rpc("kv_put", key=key, value=b"v")

    def delete(self, prefix: bytes) -> Any:
        return rpc("kv_del", key=prefix, prefix=True)

    def kill(self, actor: Any) -> None:
        ray.kill(actor, no_restart=False)


def keys(number: int) -> list[list[bytes]]:
    """The keys of the groups that a round deletes."""
    return [[f"gone-{number}-{group}-{i}".encode() for i in range(3)] for group in range(KEYS)]


def changes(number: int, actors: list[Any], askers: list[Any]) -> list[str]:
    """Asks for all changes of a round at once. Returns what was wrong with the answers."""
    puts = [one.put.remote(f"put-{number}-{i}".encode()) for i, one in enumerate(askers[:KEYS])]
    gone = [one.delete.remote(group[0][:-1]) for one, group in zip(askers[KEYS : 2 * KEYS], keys(number), strict=True)]
    kills = [one.kill.remote(actor) for one, actor in zip(askers[2 * KEYS :], actors, strict=True)]
    wrong = [f"key {i} was not new when it was put" for i, new in enumerate(ray.get(puts, timeout=LIMIT_S)) if not new]
    wrong += [
        f"{n} of 3 keys were deleted in group {i}" for i, n in enumerate(ray.get(gone, timeout=LIMIT_S)) if n != 3
    ]
    ray.get(kills, timeout=LIMIT_S)
    lives: list[int] = []

    def restarted() -> bool:  # the process that is to end may answer until its node hears of that
        lives[:] = ray.get([actor.life.remote() for actor in actors], timeout=LIMIT_S)
        return min(lives) >= number + 2

    until(restarted, LIMIT_S, "the killed actors are there again")
    return wrong + [f"a killed actor is in life {life}, not {number + 2}" for life in lives if life != number + 2]


def program() -> None:
    """Runs on the node that hears nothing: a round for each line that it reads."""
    ray.init(log_to_driver=False, namespace=SPACE)
    actors = [Lives.remote() for _ in range(ACTORS)]
    ray.get([actor.life.remote() for actor in actors], timeout=LIMIT_S)
    askers = [Asker.remote() for _ in range(2 * KEYS + ACTORS)]
    ray.get([one.delete.remote(b"none") for one in askers], timeout=LIMIT_S)
    for number in range(ROUNDS):
        for key in (key for group in keys(number) for key in group):
            rpc("kv_put", key=key, value=b"v")
        print("ready", flush=True)
        sys.stdin.readline()
        print("answered", json.dumps(changes(number, actors, askers)), flush=True)


def watch() -> None:
    """Runs on the head's node: for each number of a round it says when the head has made all changes of it."""
    from eagleray.util import state

    ray.init(log_to_driver=False, namespace=SPACE)
    print("ready", flush=True)
    for line in sys.stdin:
        number = int(line)
        until(lambda n=number: len(rpc("kv_keys", key=f"put-{n}-".encode())) == KEYS, LIMIT_S, "the keys are put")
        until(lambda n=number: not rpc("kv_keys", key=f"gone-{n}-".encode()), LIMIT_S, "the keys are deleted")

        def killed(n: int = number) -> bool:
            rows = state.list_actors(filters=[("class_name", "=", "Lives")], detail=True, raise_on_missing_output=False)
            return len(rows) == ACTORS and all(row.num_restarts == n + 1 for row in rows)

        until(killed, LIMIT_S, "the actors are killed")
        print("made", flush=True)


class Cluster:
    """The head's node ``a``, where the watcher runs, and ``b``, which loses answers."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, (self.a, self.b) = lab, lab.machines.values()
        for machine in (self.a, self.b):  # workers import from here, too
            machine.env["PYTHONPATH"] = os.pathsep.join([str(ROBUST), *filter(None, [os.environ.get("PYTHONPATH")])])
        flags = (f"--state-dir={folder / 'state'}", f'--system-config={{"node_timeout": {TIMEOUT_S}}}')
        self.b.join(self.a.start_head(*SMALL, *flags), *SMALL, '--resources={"b": 1}')
        self.watcher = self.a.popen(sys.executable, "-u", "-m", "chaos.answers", "--role", "watch")
        self.program = self.b.popen(sys.executable, "-u", "-m", "chaos.answers", "--role", "program")
        self._says(self.watcher, "ready")

    def _says(self, program: Any, wanted: str = "") -> str:
        line: str = program.stdout.readline()
        if not line or line != (f"{wanted}\n" if wanted else line):
            raise AssertionError(f"not {wanted or 'an answer'!r} but {line!r}{program.stdout.read()}")
        return line

    def _tell(self, program: Any, text: str) -> None:
        program.stdin.write(text + "\n")
        program.stdin.flush()

    def round(self, number: int, pause: float) -> list[str]:
        """One round. Returns what was wrong."""
        self._says(self.program, "ready")
        self.lab.cut("a", "b", both=False)
        try:
            self._tell(self.program, "go")
            self._tell(self.watcher, str(number))
            self._says(self.watcher, "made")
            time.sleep(pause)  # so that the head is killed at different times
            self.a.signal(signal.SIGKILL, "head.pid")
        finally:
            self.lab.heal("a", "b", both=False)
        while not (said := self._says(self.program)).startswith("answered "):
            print(f"  the program: {said.strip()}", flush=True)  # a warning, for example that the head is away
        found: list[str] = json.loads(said.removeprefix("answered "))
        return found

    def end(self) -> list[str]:
        """Ends the programs and the nodes. Returns what is left of them."""
        for one in (self.program, self.watcher):
            said, _ = one.communicate(timeout=LIMIT_S)
            assert one.returncode == 0, said
        return [f"left: {one}" for one in left([self.a, self.b])]


def run(seed: int) -> list[str]:
    """All rounds, until one goes wrong. Returns what was wrong."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder, Lab(2) as lab:
        cluster = Cluster(lab, Path(folder))
        for number in range(ROUNDS):
            began = time.monotonic()
            wrong = cluster.round(number, chance.uniform(0, 0.5))
            print(f"  round {number + 1}: {2 * KEYS + ACTORS} changes, {time.monotonic() - began:.1f} s", flush=True)
            if wrong:
                return wrong
        return cluster.end()


def main(words: list[str]) -> int:
    """Runs it; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"), help="gives the same pauses")
    parser.add_argument("--role", choices=["program", "watch"], help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.role:
        (program if given.role == "program" else watch)()
        return 0
    if why := unavailable():
        print(why)
        return 1
    start = time.monotonic()
    wrong = run(given.seed)
    print(*(f"  WRONG: {one}" for one in wrong), sep="\n", end="\n" if wrong else "")
    verdict = "FAILED" if wrong else "each change was applied once"
    print(f"answers: seed {given.seed}, {time.monotonic() - start:.0f} s: {verdict}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
