"""Several heads, of which some die."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until
from several_heads import Heads
from steadywork import BEGINS
from two_nodes import LIMIT, Node

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def three() -> Iterator[Heads]:
    with Heads(3) as made:
        yield made


WORKS = (
    BEGINS
    + """
    double = ray.remote(num_cpus=0.1)(lambda x: 2 * x)
    counter, open_generator = Counter.options(name="counter").remote(), counts.remote()

    def tasks(n):
        assert ray.get([double.remote(i) for i in range(n, n + 20)], timeout=60) == [2 * i for i in range(n, n + 20)]

    work(tasks, calls, generator, actors, names)
"""
)


def test_leaders_are_killed_and_a_program_goes_on(three: Heads) -> None:
    program = three.nodes[2].popen(WORKS)
    assert program.stdout is not None and program.stdout.readline() == "works\n"
    for _ in range(4):
        three.kill(three.leader())
        until(three.healthy)
    said, _ = program.communicate("\n", timeout=LIMIT)
    assert program.returncode == 0, said
    wrong, did, longest, _ = json.loads(said)
    assert not wrong and all(did[name] > 0 for name in ("tasks", "calls", "generator", "actors", "names")), said
    assert max(longest.values()) < 20, said


def test_the_heads_are_shown_and_another_one_leads(three: Heads) -> None:
    until(three.healthy)
    text = three.nodes[1]("heads", "list")
    shown = f"Heads (head {three.number(three.leader())} leads, 3 of 3 voters healthy)\n"
    until(lambda: shown in three.nodes[1]("status"))  # nodes are told a moment later
    assert "3 of 3 voters are healthy: the cluster goes on if 1 more are lost." in text
    before = three.leader()
    other = next(n for n in three.nodes if n != before)
    number = three.number(other)
    assert f"Head {number} leads now." in three.nodes[0]("heads", "transfer-leadership", str(number))
    until(lambda: three.leader() == other)
    assert "Another head leads now" in before("heads", "transfer-leadership")
    until(lambda: three.leader() != other)
    for words, status, says in (
        (("remove",), 2, "give the number of the head"),
        (("remove", "77"), 1, "the cluster has no head 77"),
        (("remove", "x"), 2, "is not the number of a head"),
        (("lst",), 2, "list"),
        (("add", "999"), 1, "the cluster has no head 999"),
    ):
        assert says in three.nodes[0]("heads", *words, status=status)


NAMES = """
    import eagleray as ray

    ray.init(namespace="kept")
    print(sorted(ray.util.list_named_actors()), [n["Alive"] for n in ray.nodes()].count(True))
"""

KEEPS = """
    import sys
    import eagleray as ray

    ray.init(namespace="kept")

    @ray.remote(num_cpus=0)
    class Kept:
        def add(self, n):
            return n + 1

    kept = Kept.options(name="kept", lifetime="detached").remote()
    print(ray.get(kept.add.remote(0)), flush=True)
    for line in sys.stdin:
        other = Kept.remote()
        print(ray.get([kept.add.remote(int(line)), other.add.remote(int(line))], timeout=60), flush=True)
"""


def test_a_standby_takes_the_place_of_a_head_that_is_removed() -> None:
    with Heads(3) as heads:
        more = Node(heads.mark)
        heads.nodes.append(more)
        assert "add a machine" in heads.join(more)
        until(lambda: [h["role"] for h in heads.list()].count("standby") == 1 and heads.healthy())
        first = heads.leader()
        lost = heads.number(first)
        first("stop")
        rest = next(n for n in heads.nodes if n not in (first, more))
        until(lambda: any(h["role"] == "leader" and h["number"] != lost for h in heads.list(rest)))
        logs = [path.read_text() for n in heads.nodes for path in n.folder.glob("eagleray-*/s-*/logs/head.log")]
        assert not any("standing for election" in log for log in logs)  # it has handed the leadership over
        until(lambda: re.search(rf"  voter   {lost}  \S+  not healthy: it does not answer\n", more("status")))
        begun = time.monotonic()
        assert "2 of 3 voters healthy" in more("status") and time.monotonic() - begun < 5  # the head is not asked
        assert f"Head {lost} is being removed" in rest("heads", "remove", str(lost))
        until(lambda: [h["number"] for h in heads.list(rest) if h["role"] == "standby" or h["number"] == lost] == [])
        assert "3 of 3 voters are healthy" in rest("heads", "list")
        program = rest.popen(KEEPS)
        assert program.stdout is not None and program.stdin is not None and program.stdout.readline() == "1\n"
        assert more.python(NAMES) == "['kept'] 3\n"
        number, head = heads.number(rest), rest.pid("head.pid")
        more("heads", "remove", str(number))  # this one runs, and its node goes on without it
        until(lambda: number not in [h["number"] for h in heads.list(more)])
        until(lambda: not Path(f"/proc/{head}").exists())
        program.stdin.write("6\n")
        program.stdin.close()
        assert program.stdout.read() == "[7, 7]\n"
        program.wait(LIMIT)
        program.stdout.close()


def test_one_head_is_left_and_recovers(tmp_path: object) -> None:
    with Heads(1) as heads:
        folders = [f"{tmp_path}/{i}" for i in range(3)]
        first, second = heads.nodes[0], Node(heads.mark)
        first("stop")
        heads.flags = (f"--state-dir={folders[0]}",)
        heads.begin(first)
        heads.nodes += [second, Node(heads.mark), Node(heads.mark)]
        for node, folder in zip(heads.nodes[1:3], folders[1:], strict=True):
            heads.flags = (f"--state-dir={folder}",)
            heads.join(node)
        last = heads.nodes[3]
        last.start(f"--address={heads.address}", f"--token-file={heads.token}", "--num-cpus=2", "--node-name=last")
        until(lambda: "3 of 3 voters are healthy" in first("heads", "list"))
        program = last.popen(KEEPS)
        assert program.stdout is not None and program.stdin is not None and program.stdout.readline() == "1\n"
        for node in heads.nodes[:3]:
            node("stop")
        for folder in folders[1:]:  # two machines are lost
            assert "Nothing was changed" in first("heads", "recover", f"--state-dir={folder}")
        said = first("heads", "recover", f"--state-dir={folders[0]}")
        assert "These heads are given up for good: head " in said and "Nothing was changed" in said
        said = first("heads", "recover", f"--state-dir={folders[0]}", "--yes")
        assert "is the only head now, in generation 2" in said
        port = heads.address.rpartition(":")[2]
        words = ("--num-cpus=1", "--node-ip-address=127.0.0.1", f"--state-dir={folders[0]}")
        assert "goes on with the cluster" in first.start("--head", f"--port={port}", *words)
        program.stdin.write("5\n")
        program.stdin.flush()
        assert program.stdout.readline() == "[6, 6]\n"  # a node lives on, also with what it begins now
        program.stdin.close()
        program.wait(LIMIT)
        program.stdout.close()
        until(lambda: first.python(NAMES) == "['kept'] 2\n")  # the nodes beside the lost heads are dead by now
        assert first("heads", "list", "--json").count('"number"') == 1
        second.start("--head", f"--address={heads.address}", f"--token-file={heads.token}", "--port=0", *words[:2])
        until(lambda: first("heads", "list", "--json").count('"healthy": true') == 2)
