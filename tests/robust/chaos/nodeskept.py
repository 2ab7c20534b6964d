"""What the nodes of a cluster keep when all work is over, seen by the program that did the work."""

from __future__ import annotations

import gc
from typing import Any

import eagleray as ray
import msgpack
from eagleray.util import state
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from processes import until


@ray.remote(num_cpus=0)
def stock() -> dict[str, int]:
    """What this node's store holds."""
    from eagleray._private.state import process

    found: dict[str, int] = msgpack.unpackb(process.require().hot.rpc("obj_stats", b"", 5000))
    return {name: found[name] for name in ("objects", "used", "pinned")}


def _stocks() -> dict[str, dict[str, int]]:
    """What the stores of all living nodes hold, by the names of the nodes."""
    nodes = [row for row in ray.nodes() if row["Alive"]]
    here = [NodeAffinitySchedulingStrategy(row["NodeID"], soft=False) for row in nodes]
    found = ray.get([stock.options(scheduling_strategy=one).remote() for one in here])
    return {row["NodeName"]: one for row, one in zip(nodes, found, strict=True)}


def kept(seconds: float) -> list[str]:
    """What of the work is still there when that time is over: objects, actors, resources in use."""
    found: list[str] = []

    def nothing() -> bool:
        gc.collect()
        found[:] = _held()
        return not found

    try:
        until(nothing, seconds)
    except TimeoutError:
        return found
    return []


def _held() -> list[str]:
    held = [f"node {name} holds {one}" for name, one in _stocks().items() if any(one.values())]
    held += [f"an actor of {row.class_name} on node {row.node_id} is {row.state}" for row in _living_actors()]
    total, free = ray.cluster_resources(), ray.available_resources()
    held += [f"{free.get(name, 0)} of {name} is free, of {n}" for name, n in total.items() if free.get(name, 0) != n]
    if held:
        held += [
            f"{row.object_id[:12]}… of {row.object_size} bytes, {row.reference_type}, task {row.task_status}, "
            f"{'owned' if row.is_owner else 'borrowed'} by process {row.pid} ({row.type}) of {row.ip}"
            for row in state.list_objects(limit=10, detail=True)
        ]
    return held


def _living_actors() -> list[Any]:
    return [row for row in state.list_actors(limit=1000) if row.state != "DEAD"][:10]
