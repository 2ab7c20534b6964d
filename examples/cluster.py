"""A cluster of three nodes, of which one is killed half-way: the work that it had is done again elsewhere.

All nodes are on this machine; on several machines the same job runs unchanged. One node declares two GPUs, which need
not be there. Run it with `python examples/cluster.py`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Any

import eagleray as ray
import numpy as np
from eagleray import kernels
from eagleray.cluster_utils import Cluster

MARK = "EXAMPLE_OF_A_CLUSTER"  # a variable by which the processes of the nodes are found
IMAGES = 48
SIDE = 256
ROUNDS = 6


def image(number: int) -> Any:
    """The image with this number."""
    return np.random.default_rng(number).random((SIDE, SIDE), dtype=np.float32)


def sharpen(picture: Any) -> Any:
    """A step of work for a CPU: takes from each point the mean of its neighbours."""
    for _ in range(ROUNDS):
        near = sum(np.roll(picture, shift, axis) for axis in (0, 1) for shift in (1, -1))
        picture = np.clip(picture * 2 - near / 4, 0, 1)
    return picture


def node_id() -> str:
    return ray.get_runtime_context().get_node_id()


@ray.remote
def prepare(number: int) -> tuple[str, Any]:
    time.sleep(0.05)  # stands for reading a file
    return node_id(), sharpen(image(number))


@ray.remote(num_gpus=1)
def brightness(number: int, prepared: tuple[str, Any]) -> tuple[str, int, float]:
    """A step for a GPU. With GPUs that are only declared the same kernel runs on the CPU."""
    array = kernels.array(prepared[1], device=kernels.default_device())
    return node_id(), number, float(kernels.mul_two(array).numpy().sum(dtype=np.float64))


@ray.remote(num_cpus=0, num_gpus=1)
class Ledger:
    """Keeps the results. It holds one of the two GPUs, so it is on their node."""

    def __init__(self) -> None:
        self.rows: dict[int, float] = {}

    def note(self, number: int, value: float) -> int:
        self.rows[number] = value
        return len(self.rows)

    def total(self) -> tuple[str, float]:
        return node_id(), sum(self.rows[number] for number in sorted(self.rows))


def run(cluster: Cluster, names: dict[str, str], victim: Any) -> float:
    """Runs the job, and kills a node when half of it is done."""
    ledger = Ledger.remote()
    prepared = [prepare.remote(number) for number in range(IMAGES)]
    waiting = [brightness.remote(number, one) for number, one in enumerate(prepared)]
    places: dict[str, set[str]] = {"prepared": set(), "measured": set()}
    done = 0
    while waiting:
        ready, waiting = ray.wait(waiting)
        where, number, value = ray.get(ready[0])
        places["measured"].add(names[where])
        places["prepared"].add(names[ray.get(prepared[number])[0]])
        done = ray.get(ledger.note.remote(number, value))
        if done == IMAGES // 2:
            print(f"{done} of {IMAGES} images are done; {names[victim.node_id]} is killed now")
            cluster.remove_node(victim, allow_graceful=False)
    where, total = ray.get(ledger.total.remote())
    for what, on in places.items():
        print(f"{what} on: {', '.join(sorted(on))}")
    print(f"the results were kept on: {names[where]}")
    assert done == IMAGES
    assert len(places["prepared"]) > 1, "one node did it all"
    assert names[where] == "two GPUs", where
    return total


def left_behind(mark: str, folders: list[str]) -> list[str]:
    """What is still there of the nodes: processes, their sockets and shared memory, and files."""
    found = [f"folder {folder}" for folder in folders if Path(folder).exists()]
    own = os.getpid()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(path.name) != own and f"{MARK}={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(f"process {path.name}: {(path / 'cmdline').read_text()}")
    sockets = Path("/proc/net/unix").read_text()
    found += [f"socket below {folder}" for folder in folders if folder in sockets]
    for link in Path("/proc/self/fd").iterdir():  # shared memory has no name: it lives as long as somebody holds it
        with contextlib.suppress(OSError):
            if "eagleray-arena" in os.readlink(link):
                found.append(f"shared memory {os.readlink(link)}")
    return found


def main() -> None:
    began = time.monotonic()
    mark = os.environ[MARK] = f"{socket.gethostname()}-{os.getpid()}"
    want = sum(float((sharpen(image(n)) * 2).sum(dtype=np.float64)) for n in range(IMAGES))
    cluster = Cluster()
    try:
        head = cluster.add_node(num_cpus=1, node_name="head")
        victim = cluster.add_node(num_cpus=2, node_name="two CPUs")
        gpus = cluster.add_node(num_cpus=1, num_gpus=2, node_name="two GPUs")
        folders = [node.session_dir for node in (head, victim, gpus)]
        cluster.connect()
        names = {row["NodeID"]: row["NodeName"] for row in ray.nodes()}
        print(f"{len(names)} nodes with {ray.cluster_resources()['CPU']:.0f} CPUs and", end=" ")
        print(f"{ray.cluster_resources()['GPU']:.0f} GPUs after {time.monotonic() - began:.1f} s")
        total = run(cluster, names, victim)
    finally:
        cluster.shutdown()
    print(f"total brightness {total:.6f}, and {want:.6f} without a cluster")
    assert abs(total - want) <= 1e-6 * want, "each image counts once"
    left = left_behind(mark, folders)
    assert not left, left
    print(f"nothing is left of the nodes after {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
