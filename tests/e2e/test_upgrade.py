"""A cluster that is upgraded from one build to the next while a program works.

The second build is made of the same sources, by ``make build/ahead/.ready``: each version that two builds compare is one
higher there. So its heads and nodes are to these what those of the next release are.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until
from several_heads import Heads
from two_nodes import LIMIT, Node

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).resolve().parents[2]
AHEAD = ROOT / "build" / "ahead"


@pytest.fixture(scope="module", autouse=True)
def _build() -> None:
    subprocess.run(["make", "-s", "build/ahead/.ready"], cwd=ROOT, check=True)


class Upgraded(Heads):
    """Three heads without CPUs, and two nodes of the old build."""

    def __init__(self, folder: Path) -> None:
        super().__init__(3)
        self.folder = folder
        self.others = [Node(self.mark) for _ in range(3)]
        # Where programs of the old build find the package: the same folder has the new one at the end, as after an installation.
        self.installed = folder / "installed"
        self.installed.symlink_to(ROOT / "python")
        for node in self.others[:2]:
            node.use(self.installed)

    def _words(self, node: Node) -> tuple[str, ...]:
        number = self.nodes.index(node) + 1
        return (
            *("--port=0", "--num-cpus=0", "--node-ip-address=127.0.0.1", f"--node-name=head{number}"),
            f"--state-dir={self.folder / str(number)}",
        )

    def add(self, number: int, name: str) -> Node:
        """Starts a node with two CPUs and a resource that is called as the node."""
        node = self.others[number]
        resources = json.dumps({name: 2})
        words = (f"--address={self.addresses()}", f"--token-file={self.token}", "--num-cpus=2", f"--node-name={name}")
        node.start(*words, "--node-ip-address=127.0.0.1", f"--resources={resources}")
        return node

    def addresses(self) -> str:
        """Where the heads are now."""
        return ",".join(h["addresses"][0] for h in self.list(self.reached()))

    def reached(self) -> Node:
        """A node that runs, to ask on."""
        return self.others[0] if self.begun else self.nodes[0]

    begun = False

    def replace(self, node: Node, package: Path | None) -> None:
        """Stops a head with its node, and starts it with another build in its folder."""
        addresses = self.addresses()
        node("stop")
        node.use(package)
        self.address = addresses
        self.join(node)
        until(lambda: len(self.list(self.reached())) == 3 and all(h["healthy"] for h in self.list(self.reached())))

    def refused(self, node: Node, state: Path) -> str:
        """Tries to start a head, and returns why it does not start."""
        where = (f"--address={self.addresses()}", f"--token-file={self.token}", f"--state-dir={state}")
        return node("start", "--head", *where, "--port=0", "--num-cpus=0", "--node-ip-address=127.0.0.1", status=1)

    def levels(self) -> tuple[int, list[int]]:
        """The level of changes that is in use, and those that the heads know, the lowest first."""
        rows = self.list(self.reached())
        assert len({h["used_level"] for h in rows}) == 1
        return rows[0]["used_level"], sorted(h["level"] for h in rows)

    def __exit__(self, *why: object) -> None:
        for node in self.others:
            node("stop", "--grace-period=20")
        try:
            super().__exit__(*why)  # type: ignore[arg-type]
        finally:
            for node in self.others:
                node.clear()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Upgraded]:
    with Upgraded(tmp_path) as made:
        made.add(0, "one")
        made.begun = True
        made.add(1, "two")
        yield made


WORKS = """
    import json
    import threading
    import time

    import eagleray as ray
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(namespace="works")
    two = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == "two")

    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self):
            self.n += 1
            return self.n

    @ray.remote(num_cpus=0, num_returns="streaming")
    def counts():
        n = 0
        while True:
            yield n
            n += 1
            time.sleep(0.005)

    double = ray.remote(num_cpus=0.1)(lambda x: 2 * x)
    here = {"resources": {"one": 0.1}}
    there = {"resources": {"two": 0.1}}
    counter = Counter.options(name="counter", **there).remote()
    at_two = NodeAffinitySchedulingStrategy(two, soft=True)
    lasting = Counter.options(name="lasting", lifetime="detached", max_restarts=-1, scheduling_strategy=at_two).remote()
    open_generator = counts.options(**there).remote()
    over, did, wrong = threading.Event(), {}, []

    def works(name, step):
        n = 0
        try:
            while not over.is_set():
                step(n)
                n += 1
        except Exception as error:
            wrong.append(f"{name}: {error!r}")
        did[name] = n

    def tasks(n):
        refs = [double.options(**(here, there)[i % 2]).remote(i) for i in range(n, n + 20)]
        assert ray.get(refs, timeout=60) == [2 * i for i in range(n, n + 20)]

    def calls(n):
        assert ray.get(counter.add.remote(), timeout=60) == n + 1

    def lasting_calls(n):
        assert ray.get(lasting.add.remote(), timeout=60) == n + 1

    def generator(n):
        assert ray.get(next(open_generator), timeout=60) == n

    def actors(n):
        made = Counter.options(**there).remote()
        assert ray.get(made.add.remote(), timeout=60) == 1

    def names(n):
        assert ray.get_actor("counter") == counter

    steps = (tasks, calls, lasting_calls, generator, actors, names)
    threads = [threading.Thread(target=works, args=(step.__name__, step)) for step in steps]
    for t in threads:
        t.start()
    print("works", flush=True)
    input()
    waits = double.options(resources={"three": 1}).remote(4)
    print("waits", flush=True)
    input()
    over.set()
    for t in threads:
        t.join()
    done, _ = ray.wait([waits], timeout=0)
    print(json.dumps([wrong, did, len(done)]))
"""

NEW = """
    import json

    import eagleray as ray

    ray.init(namespace="works")

    @ray.remote(num_cpus=1)
    class Here:
        def where(self):
            return ray.get_runtime_context().get_node_id()

    three = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == "three" and n["Alive"])
    where = ray.remote(lambda: ray.get_runtime_context().get_node_id())
    assert set(ray.get([where.remote() for _ in range(20)], timeout=60)) == {three}
    mine = Here.remote()
    assert ray.get(mine.where.remote(), timeout=60) == three
    lasting = ray.get_actor("lasting")
    try:
        print(ray.get(lasting.add.remote(), timeout=60))
    except ray.exceptions.RaySystemError as error:
        print(error)
"""


def test_heads_and_nodes_are_upgraded_while_a_program_works(cluster: Upgraded) -> None:
    one, two, three = cluster.others
    first, second, third = cluster.nodes
    program = one.popen(WORKS)
    assert program.stdin is not None and program.stdout is not None and program.stdout.readline() == "works\n"
    until(lambda: cluster.levels()[0] > 0)
    level, known = cluster.levels()
    assert known == [level] * 3

    # One head is upgraded. The others do not know what is new, so it is not in use, and the head can go back.
    cluster.replace(first, AHEAD)
    assert cluster.levels() == (level, [level, level, level + 1])
    assert "An upgrade is under way: of older releases are the heads " in one("heads", "list")
    cluster.replace(first, None)
    assert cluster.levels() == (level, [level] * 3)

    # All are upgraded, and what is new is in use from the moment when the last one is.
    cluster.replace(first, AHEAD)
    cluster.replace(second, AHEAD)
    assert cluster.levels() == (level, [level, level + 1, level + 1])
    cluster.replace(third, AHEAD)
    until(lambda: cluster.levels() == (level + 1, [level + 1] * 3))
    assert "upgrade" not in one("heads", "list")

    # A node of the new build joins. Programs of the old nodes use it for nothing, and say so.
    three.use(AHEAD)
    cluster.add(2, "three")
    print("waits", file=program.stdin, flush=True)
    assert program.stdout.readline() == "waits\n"
    new = three.popen(NEW)
    said, _ = new.communicate(timeout=LIMIT)
    assert new.returncode == 0 and "is of another release of Eagle Ray: its processes speak version " in said, said

    # An old head is refused from now on, as one that comes back and as one that joins, and changes nothing.
    first("stop")
    first.use(None)
    refused = cluster.refused(first, cluster.folder / "1")
    assert "Start this head with the release of the other heads" in refused, refused
    assert f"level {level + 1} is in use, and this release knows levels up to {level}" in refused, refused
    refused = cluster.refused(first, cluster.folder / "empty")
    assert "Install the release of the other heads on its machine" in refused, refused
    first.use(AHEAD)
    cluster.join(first)

    # The old nodes are left by their programs. What nothing of the old build is left for goes on at the new node.
    why = program.stdout.readline()
    assert "task <lambda> has waited" in why and "4 nodes of the cluster are of another release (their processes speak" in why
    said, _ = program.communicate("over\n", timeout=LIMIT)
    assert program.returncode == 0, said
    wrong, did, done = json.loads(said.splitlines()[-1])
    assert not wrong and not done and len(did) == 6 and all(did.values()), said
    one("stop")
    cluster.installed.unlink()
    cluster.installed.symlink_to(AHEAD)
    two("stop")
    until(lambda: re.fullmatch(r"[0-9]+\n", three.python(NEW)))
