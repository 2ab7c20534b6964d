"""Random programs on a cluster of three nodes. In the middle of each program one of them is killed.

The driver works on the node with the head, which lives. Each node has one of the holders, and tasks run on all nodes
in turn.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from pathlib import Path
from typing import Any

import eagleray as ray
from eagleray.cluster_utils import Cluster, ClusterNode
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from processes import until

from chaos import LIMIT
from chaos.boxes import Holder
from chaos.killer import workers
from chaos.program import Run, Step, program
from chaos.sweep import STEPS, Session
from chaos.travels import STORE

NODES = 3
SIZE: dict[str, Any] = {"num_cpus": 2, "object_store_memory": STORE}


def number(ref: Any) -> int:
    """The number of the node of a reference's owner, which is in its id."""
    return int.from_bytes(ref.binary()[8:12], "big")


class FarRun(Run):
    """A program whose holders, tasks and objects are on several nodes."""

    #: Copies are on several nodes, so the store of one does not tell how many objects there are.
    counted = ("owned", "borrowed")

    def __init__(self, session: Nodes) -> None:
        self.session = session
        self.homes = session.homes()
        self.lodgings: dict[str, int] = {}
        super().__init__(session.holders, session.daemon)

    def home(self, index: int) -> int:
        return self.homes[index]

    def home_of(self, ref: Any) -> int:
        return number(ref)

    def workers(self) -> list[int]:
        return [pid for node in self.session.nodes for pid in workers(int(node.pid))]

    def holder(self, index: int) -> Any:
        return self.session.holder(index)

    def lodged(self, name: str, actor: Any) -> None:
        (own,) = ray.get(actor.own.remote(), timeout=LIMIT)
        self.lodgings[name] = number(own)

    def kill_node(self) -> None:
        """What its processes kept is let go, what they owned is lost; another node takes its place."""
        index = self.chance.randrange(1, NODES)
        self.settle_calls()  # else those to the node's holder fail
        dead = self.homes[index]
        self.deaths.nodes.add(dead)
        self.kept = [entry for entry in self.kept if entry[0] != index]
        self.lodgers = [(name, node) for name, node in self.lodgers if self.lodgings[name] != dead]
        for name in [name for name in self.spared if self.lodgings[name] == dead]:
            del self.spared[name]
        self.session.kill(index)
        self.replace(index)
        self.homes = self.session.homes()

    def rest(self) -> None:
        """Sees that no node has anything left."""
        found: list[Any] = []

        def nothing() -> bool:
            found[:] = ray.get([holder.stats.remote() for holder in self.holders], timeout=LIMIT)
            found.append([str(path) for node in self.session.nodes for path in spilled_by(node)])
            return found[-1] == [] and not any(
                one[name] for one in found[:-1] for name in ("objects", "used", "pinned", "owned")
            )

        with contextlib.suppress(TimeoutError):
            until(nothing, LIMIT)
        assert nothing(), f"kept on the nodes: {found}"


def spilled_by(node: ClusterNode) -> list[Path]:
    """The files of objects that a node's store has no room for."""
    return list(Path(node.session_dir).glob("eagleray_spilled_*/*-*"))


class Nodes(Session):
    """A cluster in which programs run one after the other."""

    flags = ("--nodes",)

    def program(self, seed: int) -> list[Step]:
        steps = program(seed, STEPS)
        return [*steps[: STEPS // 2], ("kill_node", random.Random(seed).getrandbits(32)), *steps[STEPS // 2 :]]

    def __enter__(self) -> Nodes:
        self.cluster = Cluster(initialize_head=True, head_node_args=SIZE)
        try:
            assert self.cluster.head_node
            self.nodes = [self.cluster.head_node, *(self.cluster.add_node(**SIZE) for _ in range(NODES - 1))]
            ray.init(address=self.cluster.address, log_to_driver=False)
            self.holders = [self.holder(index) for index in range(NODES)]
            self.daemon = int(self.nodes[0].pid)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        ray.shutdown()
        self.cluster.shutdown()

    def begin(self) -> Run:
        return FarRun(self)

    def holder(self, index: int) -> Any:
        """A new holder on a node."""
        there = NodeAffinitySchedulingStrategy(self.nodes[index].node_id, soft=False)
        return Holder.options(scheduling_strategy=there).remote()

    def homes(self) -> list[int]:
        """The numbers of the nodes with the holders, 0 for the one that lives."""
        found = ray.get([holder.own.remote() for holder in self.holders], timeout=LIMIT)
        return [0, *(number(own) for (own,) in found[1:])]

    def kill(self, index: int) -> None:
        """Kills the daemon of a node, and has another node take its place."""
        dead = self.nodes[index]
        os.kill(int(dead.pid), signal.SIGKILL)
        self.nodes[index] = self.cluster.add_node(**SIZE)
        self.cluster.remove_node(dead)
