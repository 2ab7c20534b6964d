"""Clusters that are upgraded: three heads and some nodes, each of which can be started with another build."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType

from pace import until
from several_heads import Heads
from steadywork import BEGINS
from two_nodes import Node

ROOT = Path(__file__).resolve().parents[2]
#: The build that says of itself that it is one version ahead, in all versions that two builds compare.
AHEAD = ROOT / "build" / "ahead"
#: The usual build.
HERE = ROOT / "python"


class Upgraded(Heads):
    """Three heads without CPUs, and up to three nodes.

    Args:
        folder: Where the states of the heads are.
        old: The build that everything is started with at first.
    """

    def __init__(self, folder: Path, old: Path = HERE) -> None:
        super().__init__(3)
        self.folder, self.begun = folder, False
        self.others = [Node(self.mark) for _ in range(3)]
        # Where programs of the old build find the package. The same folder has the new one at the end, as after an
        # installation.
        self.installed = folder / "installed"
        self.installed.symlink_to(old)
        for node in self.others[:2]:
            node.use(self.installed)
        for node in self.nodes:
            node.use(old)

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
        self.begun = True
        return node

    def addresses(self) -> str:
        """Where the heads are now."""
        return ",".join(h["addresses"][0] for h in self.list(self.reached()))

    def reached(self) -> Node:
        """A node that runs, to ask on."""
        return self.others[0] if self.begun else self.nodes[0]

    def replace(self, node: Node, package: Path) -> None:
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

    def levels(self, node: Node | None = None) -> tuple[int, list[int]]:
        """The level of changes that is in use, and those that the heads know, the lowest first, asked on a node."""
        rows = self.list(node or self.reached())
        assert len({h["used_level"] for h in rows}) == 1
        return rows[0]["used_level"], sorted(h["level"] for h in rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.others:
            node("stop", "--grace-period=20")
        try:
            super().__exit__(kind, error, trace)
        finally:
            for node in self.others:
                node.clear()


#: A program that does all that needs heads, and all that needs none, until it is told to end. Then it says what was
#: wrong, and how often it did what.
WORKS = (
    BEGINS
    + """
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    two = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == "two")
    double = ray.remote(num_cpus=0.1)(lambda x: 2 * x)
    here = {"resources": {"one": 0.1}}
    there = elsewhere = {"resources": {"two": 0.1}}
    counter = Counter.options(name="counter", **there).remote()
    at_two = NodeAffinitySchedulingStrategy(two, soft=True)
    lasting = Counter.options(name="lasting", lifetime="detached", max_restarts=-1, scheduling_strategy=at_two).remote()
    open_generator = counts.options(**there).remote()

    def tasks(n):
        refs = [double.options(**(here, there)[i % 2]).remote(i) for i in range(n, n + 20)]
        assert ray.get(refs, timeout=60) == [2 * i for i in range(n, n + 20)]

    def lasting_calls(n):
        assert ray.get(lasting.add.remote(), timeout=60) == n + 1

    def waits():
        ref = double.options(resources={"three": 1}).remote(4)
        print("waits", flush=True)
        input()
        return lambda: len(ray.wait([ref], timeout=0)[0])

    work(tasks, calls, lasting_calls, generator, actors, names, later=waits)
"""
)
