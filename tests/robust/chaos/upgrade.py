"""Three heads are replaced by those of another build and back, in any order, stopped or killed, while a program works.

``python -m chaos.upgrade --seed 1`` in ``tests/robust`` takes the usual build and the one that is a version ahead. With
``--before HEAD~1`` the first one is made of another commit, in a worktree, and the second one is the usual build: an
upgrade from that commit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pace import until
from two_nodes import Node
from upgraded import AHEAD, HERE, ROOT, WORKS, Upgraded

LIMIT_S = 180.0


def before(commit: str, folder: Path) -> Path:
    """Builds the package of a commit."""
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(folder), commit], cwd=ROOT, check=True)
    shutil.copytree(ROOT / "build" / "cuda", folder / "build" / "cuda")
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, check=True)
    return folder / "python"


def kill(node: Node) -> None:
    """Kills the warden of a head with its head and its daemon, as when a machine stops."""
    processes = [node.pid(name) for name in ("warden.pid", "head.pid", "pid")]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)  # else the warden would start the head again
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))


class Turns:
    """The heads as they are replaced, one at a time.

    Args:
        cluster: The cluster.
        old: The build that it runs.
        new: The build that it is upgraded to.
        seed: Which heads are replaced, and how.
    """

    def __init__(self, cluster: Upgraded, old: Path, new: Path, seed: int) -> None:
        self._cluster, self._old, self._new = cluster, old, new
        self._chance = random.Random(seed)
        self._has = [old] * len(cluster.nodes)

    def some(self) -> None:
        """Replaces any head, if it can still go back then: when all are new, there is no way back."""
        which = self._chance.randrange(len(self._has))
        if self._has[which] == self._new:
            self._replace(which, self._old)
        elif self._has.count(self._old) > 1:
            self._replace(which, self._new)

    def rest(self) -> None:
        """Upgrades all heads that are old."""
        for which in self._chance.sample(range(len(self._has)), len(self._has)):
            if self._has[which] == self._old:
                self._replace(which, self._new)

    def _replace(self, which: int, build: Path) -> None:
        node, way = self._cluster.nodes[which], "stopped"
        if self._chance.random() < 0.3:
            way = "killed"
            kill(node)
            other = self._cluster.reached()
            until(lambda: any(h["role"] == "leader" and h["healthy"] for h in self._cluster.list(other)))
        self._cluster.replace(node, build)
        self._has[which] = build
        age = "new" if build == self._new else "old"
        print(f"  {time.strftime('%H:%M:%S')} head {which + 1} was {way} and is {age}", flush=True)


def same(used: int, known: list[int]) -> bool:
    """Whether all heads know the same changes, and all of them are in use."""
    return used > 0 and set(known) == {used}


def run(old: Path, new: Path, given: argparse.Namespace, folder: Path) -> list[str]:
    """Upgrades a cluster. Returns what was wrong."""
    with Upgraded(folder, old) as cluster:
        one = cluster.add(0, "one")
        cluster.add(1, "two")
        program = one.popen(WORKS)
        assert program.stdout is not None and program.stdout.readline() == "works\n"
        turns = Turns(cluster, old, new, given.seed)
        for _ in range(given.turns):
            turns.some()
        turns.rest()
        cluster.others[2].use(new)
        three = cluster.add(2, "three")
        until(lambda: same(*cluster.levels(three)))
        print(f"  level {cluster.levels(three)[0]} is in use", flush=True)
        said, _ = program.communicate("waits\nover\n", timeout=LIMIT_S)
    if program.returncode:
        return [f"the program ended with status {program.returncode}: {said}"]
    wrong, did, _, _ = json.loads(said.splitlines()[-1])
    print(f"  {did}")
    return [*wrong, *(f"{name} did nothing" for name, n in did.items() if not n)]


def main(words: list[str]) -> int:
    """Runs it; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--turns", type=int, default=8, help="how often a head is replaced before all are upgraded")
    parser.add_argument("--before", default="", help="the commit whose build is upgraded to the present one")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as made:
        states, tree = Path(made) / "states", Path(made) / "before"
        states.mkdir()
        try:
            if given.before:
                wrong = run(before(given.before, tree), HERE, given, states)
            else:
                subprocess.run(["make", "-s", "build/ahead/.ready"], cwd=ROOT, check=True)
                wrong = run(HERE, AHEAD, given, states)
        finally:
            if tree.exists():
                subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)
    print(*wrong, sep="\n")
    print(f"{len(wrong)} things were wrong, seed {given.seed}" if wrong else "the program noticed nothing")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
