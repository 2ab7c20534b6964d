"""Large values of the cluster's state, which the heads keep as files: they outlive heads, and damage is mended."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from eagleray._private.cli import BINARY
from pace import until
from several_heads import Heads
from two_nodes import Node

pytestmark = pytest.mark.timeout(300)

MIB = 1 << 20

#: Makes a detached actor whose class captures so many MiB, on the node with a name, and ends.
MAKES = """
    import os

    import eagleray as ray
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(namespace="large")
    captured = os.urandom({mib} << 20)

    @ray.remote(num_cpus=0)
    class Holder:
        def size(self):
            return len(captured)

        def where(self):
            return ray.get_runtime_context().get_node_id()

    place = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == {node!r} and n["Alive"])
    there = NodeAffinitySchedulingStrategy(place, soft=True)
    holder = Holder.options(name="holder", lifetime="detached", max_restarts=-1, scheduling_strategy=there).remote()
    print(ray.get(holder.size.remote(), timeout=60))
    print(ray.get(holder.where.remote()) == place)
"""

#: Asks the actor for the size of what its class captures, after a restart if that is wanted.
ASKS = """
    import eagleray as ray

    ray.init(namespace="large")
    holder = ray.get_actor("holder")
    if {again}:
        ray.kill(holder, no_restart=False)
    print(ray.get(holder.size.options(max_task_retries=-1).remote(), timeout=60))
"""

#: Ends the actor for good.
ENDS = """
    import eagleray as ray

    ray.init(namespace="large")
    ray.kill(ray.get_actor("holder"))
"""


def state(node: Node) -> Path:
    """The folder of the state of the head beside a node."""
    base = node.folder / f"eagleray-{os.getuid()}"
    return Path((base / "current").read_text().strip()) / "state"


def number(folder: Path) -> int:
    """The number of the head that has a folder."""
    return int(json.loads((folder / "head.json").read_text())["identity"].rpartition("/")[2])


def whole(folder: Path) -> set[str]:
    """The hashes of the large values that a folder of a head's state has, without damaged ones."""
    found = set()
    for path in (folder / "blobs").glob("*.blob"):
        with contextlib.suppress(FileNotFoundError):  # it went just now
            if hashlib.sha256(path.read_bytes()).hexdigest() == path.stem:
                found.add(path.stem)
    return found


def flip(folder: Path, name: str) -> None:
    """Changes one byte of the file of a large value."""
    path = folder / "blobs" / f"{name}.blob"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_the_first_head_and_another_one_keep_a_large_value_without_the_third() -> None:
    """Two of three are a majority, whichever numbers they have. The first head of a cluster has number 0."""
    with Heads(3) as heads:
        first = next(n for n in heads.nodes if heads.number(n) == 0)
        leads, off = (n for n in heads.nodes if n != first)
        first("heads", "transfer-leadership", str(heads.number(leads)))
        until(lambda: heads.leader() == leads)
        off("stop")
        name = str(heads.nodes.index(leads) + 1)
        assert first.python(MAKES.format(mib=1, node=name)) == f"{MIB}\nTrue\n"
        assert whole(state(first)) == whole(state(leads)) != set()


def test_a_class_outlives_the_leader_and_the_node_of_its_actor() -> None:
    with Heads(3) as heads:
        leader = heads.leader()
        mine, other = (n for n in heads.nodes if n != leader)
        name = str(heads.nodes.index(leader) + 1)
        assert mine.python(MAKES.format(mib=9, node=name)) == f"{9 * MIB}\nTrue\n"
        folders = [state(n) for n in heads.nodes]
        until(lambda: len(whole(folders[0])) == 3 and all(whole(f) == whole(folders[0]) for f in folders))
        for folder in folders:  # in parts of 4 MiB and less, and neither the log nor a snapshot has their bytes
            assert (
                sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and f.parent.name != "blobs") < 80 * MIB
            )
        leader("stop")  # with the node on which the actor runs
        until(lambda: any(h["role"] == "leader" and h["healthy"] for h in heads.list(mine)))
        assert mine.python(ASKS.format(again=False)) == f"{9 * MIB}\n"
        assert other.python(ASKS.format(again=True)) == f"{9 * MIB}\n"
        mine.python(ENDS)
        until(lambda: not any(whole(state(n)) for n in (mine, other)))


def test_a_head_that_was_off_gets_what_it_lacks(tmp_path: Path) -> None:
    with Heads(1, f"--state-dir={tmp_path / '0'}") as heads:
        for i in (1, 2):
            heads.nodes.append(Node(heads.mark))
            heads.flags = (f"--state-dir={tmp_path / str(i)}",)
            heads.join(heads.nodes[i])
        until(lambda: "3 of 3 voters are healthy" in heads.nodes[0]("heads", "list"))
        folders = {n: tmp_path / str(i) for i, n in enumerate(heads.nodes)}
        leads = next(h["number"] for h in heads.list() if h["role"] == "leader")
        leader = next(n for n in heads.nodes if number(folders[n]) == leads)
        off, mine = (n for n in heads.nodes if n != leader)
        off("stop")
        name = str(heads.nodes.index(mine) + 1)
        assert mine.python(MAKES.format(mib=5, node=name)) == f"{5 * MIB}\nTrue\n"
        assert len(whole(folders[mine])) == 2 and not whole(folders[off])
        words = ("--num-cpus=1", "--node-ip-address=127.0.0.1", f"--state-dir={folders[off]}")
        off.start("--head", f"--address={heads.address}", f"--token-file={heads.token}", "--port=0", *words)
        until(lambda: whole(folders[off]) == whole(folders[mine]))
        until(lambda: "3 of 3 voters are healthy" in mine("heads", "list"))

        # A byte of each file of the head that leads is flipped. The actor starts again, and the files are mended.
        names = whole(folders[leader])
        for value in names:
            flip(folders[leader], value)
        assert not whole(folders[leader])
        assert mine.python(ASKS.format(again=True)) == f"{5 * MIB}\n"
        until(lambda: whole(folders[leader]) == names)

        # All heads end. What the only one that is left has of the values is all there is, and it says what it lacks.
        for node in (off, mine, leader):
            node("stop")
        lost, damaged = sorted(names)
        (folders[off] / "blobs" / f"{lost}.blob").unlink()
        flip(folders[off], damaged)
        said = off("heads", "recover", f"--state-dir={folders[off]}")
        assert "lacks 2" in said and lost in said and damaged in said and "the class of actor Holder" in said, said
        assert "Nothing was changed" in said
        shutil.copy(folders[mine] / "blobs" / f"{lost}.blob", folders[off] / "blobs")
        said = off("heads", "recover", f"--state-dir={folders[off]}", "--yes")
        assert "lacks 1" in said and lost not in said and "is the only head now" in said, said
        off.start("--head", "--port=0", f"--token-file={heads.token}", *words)
        with pytest.raises(
            AssertionError, match=f"no head of the cluster has this large value any more.*{damaged}|{damaged}"
        ):
            off.python(ASKS.format(again=False))
        shutil.copy(folders[mine] / "blobs" / f"{damaged}.blob", folders[off] / "blobs")


#: Tries a class that does not fit, then a small one.
FULL = """
    import os
    import time

    import eagleray as ray

    ray.init(namespace="large")

    def make(mib, name):
        captured = os.urandom(mib << 20)

        @ray.remote(num_cpus=0)
        class Holder:
            def size(self):
                return len(captured)

        holder = Holder.options(name=name, lifetime="detached", max_restarts=-1).remote()
        return ray.get(holder.size.remote(), timeout=60)

    assert make(4, "holder") == 4 << 20
    try:
        make(60, "too large")
    except Exception as error:
        print(type(error).__name__, error)
    try:
        ray.get_actor("too large")
    except ValueError:
        print("not there")
    for _ in range(100):  # what has come of the class that is too large goes in a moment
        try:
            print(make(5, "another"))
            break
        except ray.exceptions.OutOfDiskError:
            time.sleep(0.1)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_the_disk_of_the_head_is_full(tmp_path: Path) -> None:
    with Heads(0) as heads:
        node = Node(heads.mark)
        heads.nodes.append(node)
        words = (
            "start",
            "--head",
            "--port=0",
            "--num-cpus=1",
            "--node-ip-address=127.0.0.1",
            f"--state-dir={tmp_path}",
        )
        mounted = f"mount -t tmpfs -o size=40m tmpfs {tmp_path} && exec {BINARY} {' '.join(words)}"
        done = subprocess.run(["unshare", "-m", "sh", "-c", mounted], env=node.env, capture_output=True, text=True)
        if "mount" in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
        head = node.pid("head.pid")
        said = node.python(FULL)
        assert "the disk is full on which a head has its state" in said and "not there" in said, said
        assert said.endswith(f"{5 * MIB}\n"), said
        assert node.python(ASKS.format(again=True)) == f"{4 * MIB}\n"
        assert node.pid("head.pid") == head  # it has gone on
        os.kill(head, signal.SIGKILL)
        until(lambda: node.pid("head.pid") != head)
        assert node.python(ASKS.format(again=True)) == f"{4 * MIB}\n"


def test_the_head_ends_while_values_come(tmp_path: Path) -> None:
    with Heads(1, f"--state-dir={tmp_path}") as heads:
        node = heads.nodes[0]
        program = node.popen(MAKES.format(mib=40, node="1"))
        until(lambda: len(whole(tmp_path)) >= 2)
        os.kill(node.pid("head.pid"), signal.SIGKILL)
        said, _ = program.communicate(timeout=120)
        assert said.endswith(f"{40 * MIB}\nTrue\n"), said
        assert not list((tmp_path / "blobs").glob("*.coming"))
        assert node.python(ASKS.format(again=True)) == f"{40 * MIB}\n"
        assert json.loads(node("heads", "list", "--json"))[0]["healthy"]
