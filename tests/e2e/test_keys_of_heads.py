"""The keys of a cluster with three heads: replaced while a program works and leaders die, and while a head is off."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pace import until
from several_heads import Heads
from steadywork import BEGINS
from two_nodes import LIMIT, Node

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).parents[2]

WORKS = (
    BEGINS
    + """
    from eagleray._private.calls.control import rpc
    from eagleray._private.state import process

    double = ray.remote(num_cpus=0.1, scheduling_strategy="SPREAD")(lambda x: 2 * x)
    counter = Counter.options(name="counter").remote()

    def tasks(n):
        assert ray.get([double.remote(i) for i in range(n, n + 5)], timeout=60) == [2 * i for i in range(n, n + 5)]

    def state(n):
        value = b"%d" % n
        rpc(process.session, "kv_put", {"ns": "test", "key": b"key", "value": value, "overwrite": True})
        assert rpc(process.session, "kv_get", {"ns": "test", "key": b"key"}) == value

    work(tasks, calls, state, names)
"""
)

#: How long a call of the program may take. Without a leader, state operations wait for an election.
LONGEST_S = 20.0


@pytest.fixture(scope="module")
def attacker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that tries what does not count any more."""
    program = tmp_path_factory.mktemp("attack") / "attack"
    words = ["go", "build", "-o", str(program), "./core/internal/attack"]
    subprocess.run(words, cwd=ROOT, env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": ""}, check=True)
    return program


class Kept:
    """Somebody who has kept a token, the folder of a head, and the membership of a node."""

    def __init__(self, program: Path, heads: Heads, token: Path, folder: Path) -> None:
        release = heads.nodes[0]("version").strip()
        words = (f"-token-file={token}", f"-state={folder}", f"-port=head={heads.address}", f"-release={release}")
        self.process = subprocess.Popen(
            [program, "-attack=kept", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.number = int(self.process.stdout.readline())

    def lets_in(self, *words: object) -> bool:
        """Whether a try has success."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return bool(json.loads(self.process.stdout.readline())["in"])

    def close(self) -> None:
        self.process.communicate(timeout=LIMIT)


class Three(Heads):
    """Three heads, or more, with folders that stay, and two more nodes."""

    def __init__(self, place: Path, count: int = 3) -> None:
        super().__init__(count)
        self.heads = self.nodes[:]
        self.folder = place
        self.rows: list[dict[str, Any]] = []

    def _words(self, node: Node) -> tuple[str, ...]:
        return (*super()._words(node), f"--state-dir={self.state(self.nodes.index(node))}")

    def state(self, i: int) -> Path:
        """The folder of a head."""
        return self.folder / f"state{i}"

    def __enter__(self) -> Three:
        super().__enter__()
        assert isinstance(self, Three)
        self.rows = self.list()
        shutil.copy(self.token, self.folder / "first")
        for i in range(len(self.heads), len(self.heads) + 2):
            self.nodes.append(Node(self.mark))
            self.nodes[i].start(f"--address={self.everywhere}", f"--token-file={self.token}", f"--node-name=n{i}")
        return self

    @property
    def everywhere(self) -> str:
        """The addresses of all heads."""
        return ",".join(h["addresses"][0] for h in self.rows)

    def address_of(self, i: int) -> str:
        """The address of one head."""
        return str(next(h["addresses"][0] for h in self.rows if h["number"] == self.number_of(i)))

    def number_of(self, i: int) -> int:
        """The number of one head."""
        known = json.loads((self.state(i) / "head.json").read_text())
        return int(known["identity"].rpartition("/")[2])

    def place(self, number: int) -> Node:
        """The node beside a head."""
        return next(node for i, node in enumerate(self.heads) if self.number_of(i) == number)

    def again(self, i: int, token: object, status: int = 0) -> str:
        """Starts a head again with its folder, at its port."""
        port = self.address_of(i).rpartition(":")[2]
        words = [f"--port={port}" if w == "--port=0" else w for w in self._words(self.nodes[i])]
        words += ["--object-store-memory=100000000", f"--token-file={token}"]
        return self.nodes[i]("start", "--head", *words, status=status)

    def all_well(self, asked: Node) -> bool:
        return all(h["healthy"] for h in self.list(asked))


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Three]:
    with Three(tmp_path) as made:
        yield made


def replaced(asked: Node, before: str) -> bool:
    """Whether an authority has ended: another one signs, and none is accepted besides it."""
    said = asked("authority", "status")
    alone = re.search(r"^The authority (\w+) signs the certificates of the cluster\.$", said, re.M)
    return alone is not None and alone[1] != before


def signer(asked: Node) -> str:
    """The authority that signs."""
    found = re.search(r"authority (\w+) signs", asked("authority", "status"))
    assert found
    return found[1]


def test_token_and_authority_are_replaced_while_a_program_works_and_the_leader_dies(
    three: Three, attacker: Path
) -> None:
    shutil.copytree(three.state(0), three.folder / "stolen")
    kept = Kept(attacker, three, three.folder / "first", three.folder / "stolen")
    addresses = [(three.address_of(i), three.number_of(i)) for i in range(3)]
    for address, number in addresses:  # it would be found
        assert kept.lets_in("token", address) and kept.lets_in("node", address, number)
        assert kept.lets_in("keys", address) or number == three.number_of(0)
        assert number == three.number_of(1) or kept.lets_in("head", address, number, three.number_of(1))
    program = three.nodes[3].popen(WORKS)
    assert program.stdout is not None and program.stdout.readline() == "works\n"
    asked, halted = three.nodes[3], three.nodes[4].pid("pid")
    before, leader = signer(asked), three.leader(asked)
    os.kill(halted, signal.SIGSTOP)  # so it is not over yet
    try:
        asked("authority", "rotate")
        three.kill(leader)
        assert not replaced(asked, before)
        until(lambda: three.leader(asked) != leader or three.all_well(asked))
    finally:
        os.kill(halted, signal.SIGCONT)
    until(lambda: replaced(asked, before))
    until(lambda: three.all_well(asked))
    for address, number in addresses:
        until(lambda a=address, n=number: not kept.lets_in("node", a, n))
        assert not kept.lets_in("head", address, number, three.number_of(1))
        assert kept.lets_in("token", address)

    asked("token", "rotate")
    three.kill(three.leader(asked))
    until(lambda: three.all_well(asked))
    shutil.copy(three.token + ".new", three.token)
    until(lambda: "All machines have the new token" in asked("token", "status"))
    assert "old token has ended" in asked("token", "finish")
    for address, _ in addresses:
        until(lambda a=address: not kept.lets_in("token", a))
        assert not kept.lets_in("keys", address)
        refused = ("start", f"--address={address}", f"--token-file={three.folder / 'first'}")
        new = Node(three.mark)
        three.nodes.append(new)
        assert "does not know the token" in new(*refused, status=2)
        new.start(f"--address={address}", f"--token-file={three.token}", "--num-cpus=1")
    assert len([line for line in asked("status").splitlines() if line.startswith("  alive ")]) == 8

    said, _ = program.communicate("\n", timeout=LIMIT)
    assert program.returncode == 0, said
    wrong, did, longest, _ = json.loads(said)
    print(f"done: {did}, longest: {longest}")
    assert not wrong and all(did[name] > 10 for name in ("tasks", "calls", "state", "names")), said
    assert max(longest.values()) < LONGEST_S, said
    kept.close()


def test_a_head_that_was_off_while_token_and_authority_were_replaced_comes_back(three: Three, attacker: Path) -> None:
    shutil.copytree(three.state(0), three.folder / "stolen")
    kept = Kept(attacker, three, three.folder / "first", three.folder / "stolen")
    asked, off, number = three.nodes[3], three.nodes[2], three.number_of(2)
    off("stop")
    asked("revoke", str(kept.number))
    before = signer(asked)
    asked("authority", "rotate")
    assert f"head {number} " in asked("authority", "status")
    asked("token", "rotate")
    shutil.copy(three.token + ".new", three.token)
    until(lambda: "All machines have the new token" in asked("token", "status"))
    asked("token", "finish")
    until(lambda: replaced(asked, before))

    said = three.again(2, three.folder / "first", status=1)
    assert "does not know the token" in said and "put the new one in its place" in said
    three.again(2, three.token)
    assert three.number_of(2) == number
    until(lambda: three.all_well(asked))
    for i in range(3):
        address = three.address_of(i)
        assert not kept.lets_in("token", address) and not kept.lets_in("keys", address)
        assert not kept.lets_in("node", address, three.number_of(i))
        assert not kept.lets_in("head", address, three.number_of(i), 1 << 20)
    kept.close()
    killed = off.pid("head.pid")
    three.kill(off)  # what it has got is in its folder
    until(lambda: off.pid("head.pid") != killed)
    until(lambda: three.all_well(asked))

    off("stop")
    before = signer(asked)
    asked("authority", "rotate")
    until(lambda: replaced(asked, before))
    halted, untold = [three.nodes[i].pid("head.pid") for i in (0, 1)], log_of(off).count(UNTOLD)
    try:
        for pid in halted:
            os.kill(pid, signal.SIGSTOP)
        with ThreadPoolExecutor() as thread:
            begun = thread.submit(three.again, 2, three.token)  # nobody tells it anything before it begins
            until(lambda: log_of(off).count(UNTOLD) > untold)
            for pid in halted:
                os.kill(pid, signal.SIGCONT)
            begun.result(LIMIT)
    finally:
        for pid in halted:
            os.kill(pid, signal.SIGCONT)
    until(lambda: three.all_well(asked))
    assert "were replaced without this head" in log_of(off) and "cannot read them" not in log_of(off)


#: What a head logs that begins with its own keys.
UNTOLD = "no other head has said yet"


def log_of(node: Node) -> str:
    """What the heads of a node have logged, in all its sessions that are there."""
    return "".join(path.read_text() for path in node.folder.glob("eagleray-*/s-*/logs/head.log"))


def test_who_was_revoked_is_refused_by_a_head_that_was_off(tmp_path: Path, attacker: Path) -> None:
    with Three(tmp_path, 4) as heads:
        asked = heads.nodes[4]
        shutil.copytree(heads.state(0), heads.folder / "stolen")
        kept = Kept(attacker, heads, heads.folder / "first", heads.folder / "stolen")
        standby = next(h["number"] for h in heads.list(asked) if h["role"] == "standby")
        off = heads.nodes.index(heads.place(standby))
        heads.nodes[off]("stop")
        gone = next(h["number"] for h in heads.list(asked) if h["role"] == "voter")
        left = [i for i in range(4) if heads.number_of(i) != gone]
        for i in left:
            if i != off:
                assert kept.lets_in("node", heads.address_of(i), heads.number_of(i))
        asked("revoke", str(kept.number))
        asked("heads", "remove", str(gone))
        until(lambda: f" {gone}" in asked("authority", "status").partition("Revoked:")[2])
        heads.again(off, heads.token)
        for i in left:
            assert not kept.lets_in("node", heads.address_of(i), heads.number_of(i))
            assert not kept.lets_in("head", heads.address_of(i), heads.number_of(i), gone)
            assert kept.lets_in("token", heads.address_of(i))
        kept.close()
