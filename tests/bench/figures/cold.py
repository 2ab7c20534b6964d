"""Puts to pages that the writing process did not have before: another process's, and nobody's.

Each figure has a session of its own, so that what the store's pages were before is known.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
from bare.memory_speed import MIB, best_cold, write_at
from book import INIT, Bench, Taken, figure

CLIENTS = 2
EACH_MIB = 100
COUNT = 4  # objects of each client, all alive at once
TURNS = (1, 3)  # of the quick form, of the long one
UNSEALED = ": a mount of its own, whose files nobody can seal against being shortened"
ROOM = {"object_store_memory": 3 * CLIENTS * COUNT * EACH_MIB * MIB // 2}


def data() -> np.ndarray:
    return np.resize(np.arange(251, dtype=np.uint8), EACH_MIB * MIB)


@contextmanager
def session(bench: Bench) -> Iterator[Any]:
    bench.ray.init(**INIT, **ROOM)
    try:
        yield bench.ray
    finally:
        bench.ray.shutdown()


def client_class(ray: Any) -> Any:
    class Client:
        """Puts and holds; writes to a file that another client made, in turns with that."""

        def __init__(self) -> None:
            self.array = data()
            self.refs: list[Any] = []
            ray.put(1)

        def ready(self) -> int:
            return os.getpid()

        def put(self) -> list[float]:
            """Seconds of each put."""
            taken = []
            for _ in range(COUNT):
                started = time.perf_counter()
                self.refs.append(ray.put(self.array))
                taken.append(time.perf_counter() - started)
            return taken

        def right(self) -> bool:
            return all((ray.get(ref) == self.array).all() for ref in self.refs)

        def drop(self) -> None:
            self.refs.clear()

        def make_file(self) -> str:
            self.fd = os.memfd_create("pages")
            for number in range(COUNT):
                write_at(self.fd, number * self.array.nbytes, self.array, 1)
            return f"/proc/{os.getpid()}/fd/{self.fd}"

        def put_and_write(self, path: str) -> tuple[list[float], list[float]]:
            """Seconds of each put, and of each pwrite of as much to a file whose pages are there, in turns."""
            fd = os.open(path, os.O_RDWR)
            puts, writes = [], []
            try:
                for number in range(COUNT):
                    writes.append(write_at(fd, number * self.array.nbytes, self.array, 1))
                    started = time.perf_counter()
                    self.refs.append(ray.put(self.array))
                    puts.append(time.perf_counter() - started)
            finally:
                os.close(fd)
            return puts, writes

    return ray.remote(num_cpus=0)(Client)


def wait_for_room() -> None:
    """Waits until what was dropped is free: until then puts would take other pages."""
    from eagleray.util.state import list_objects

    deadline = time.monotonic() + 5
    while any(int(one["object_size"]) > MIB for one in list_objects()):
        assert time.monotonic() < deadline, "dropped objects are still in the store after 5 s"
        time.sleep(0.002)


def rate(taken: list[list[float]]) -> float:
    """MiB/s of all clients that did the same at once, by the slowest one's own clock."""
    return len(taken) * COUNT * EACH_MIB / max(sum(one) for one in taken)


def first_touch(bench: Bench, count: int) -> float:
    """Puts to a new store, beside the best way that was found just before to write as much."""
    bare, way = best_cold(data(), count, COUNT)
    taken = []
    for _ in range(TURNS[bench.long]):
        with session(bench) as ray:
            clients = [client_class(ray).remote() for _ in range(count)]
            ray.get([client.ready.remote() for client in clients])
            taken.append(rate(ray.get([client.put.remote() for client in clients])))
            assert all(ray.get([client.right.remote() for client in clients]))
    return Taken(median(taken), bare / MIB, f"the best cold way is {way}{UNSEALED if 'huge-page tmpfs' in way else ''}")


def other_pages(bench: Bench, count: int) -> float:
    """Puts to pages that another client used, beside pwrite to a file that another client wrote."""
    puts, writes = [], []
    for _ in range(TURNS[bench.long]):
        with session(bench) as ray:
            make = client_class(ray).remote
            before, clients = [make() for _ in range(count)], [make() for _ in range(count)]
            ray.get([client.ready.remote() for client in [*before, *clients]])
            paths = ray.get([client.make_file.remote() for client in before])
            ray.get([client.put.remote() for client in before])
            ray.get([client.drop.remote() for client in before])
            wait_for_room()
            found = [client.put_and_write.remote(path) for client, path in zip(clients, paths, strict=True)]
            put, written = zip(*ray.get(found), strict=True)
            puts.append(rate(list(put)))
            writes.append(rate(list(written)))
            assert all(ray.get([client.right.remote() for client in clients]))
    return Taken(median(puts), median(writes))


@figure("put, 100 MiB, pages of another process; bare: pwrite", "MiB/s", share=0.9, alone=True)
def put_other_pages(bench: Bench) -> float:
    return other_pages(bench, 1)


@figure(f"put, 100 MiB, pages of others, {CLIENTS} clients; bare: pwrite", "MiB/s", share=0.9, alone=True)
def put_other_pages_clients(bench: Bench) -> float:
    return other_pages(bench, CLIENTS)


@figure("put, 100 MiB, first touch; bare: best cold way", "MiB/s", share=0.9, alone=True)
def put_first_touch(bench: Bench) -> float:
    return first_touch(bench, 1)


@figure(f"put, 100 MiB, first touch, {CLIENTS} clients; bare: best cold way", "MiB/s", share=0.9, alone=True)
def put_first_touch_clients(bench: Bench) -> float:
    return first_touch(bench, CLIENTS)
