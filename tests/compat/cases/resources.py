"""CPUs, custom resources and memory: what is reserved, by whom, until when."""

from __future__ import annotations

import os
import tempfile
import threading
from typing import Any

from casebook import case, eventually, own_session

START = {"num_cpus": 4, "resources": {"disk": 2}, "log_to_driver": False}


def free(ray: Any, *names: str) -> list[float]:
    """What is available of each resource; one that is used up is not in the dictionary at all."""
    available = ray.available_resources()
    return [round(available.get(name, 0.0), 4) for name in names]


@own_session
def totals_and_free(ray: Any) -> None:
    ray.init(**START)
    total = ray.cluster_resources()
    print({name: total[name] for name in ("CPU", "disk")}, type(total).__name__, type(total["CPU"]).__name__)
    print(free(ray, "CPU", "disk"), sorted(total) == sorted(ray.available_resources()))


@own_session
def tasks_reserve_while_they_run(ray: Any) -> None:
    ray.init(**START)

    @ray.remote(num_cpus=1.5, resources={"disk": 0.5})
    def hold(path: str) -> str:
        with open(path) as pipe:  # blocks until the driver opens the other end
            return pipe.read()

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/pipe"
        os.mkfifo(path)
        ref = hold.remote(path)
        with open(path, "w") as pipe:
            print("running:", eventually(lambda: free(ray, "CPU", "disk"), [2.5, 1.5]))
            pipe.write("go")
        print(ray.get(ref, timeout=30))
    print("after:", eventually(lambda: free(ray, "CPU", "disk"), [4.0, 2.0]))


@own_session
def actors_reserve_while_they_live(ray: Any) -> None:
    ray.init(**START)

    @ray.remote
    class Holder:
        def ready(self) -> dict[str, float]:
            return ray.get_runtime_context().get_assigned_resources()

    default = Holder.remote()
    print("default:", ray.get(default.ready.remote()), eventually(lambda: free(ray, "CPU"), [4.0]))
    two = Holder.options(num_cpus=2, resources={"disk": 1.5}).remote()
    print("two:", sorted(ray.get(two.ready.remote()).items()), eventually(lambda: free(ray, "CPU", "disk"), [2.0, 0.5]))
    half = Holder.options(num_cpus=0.5).remote()
    print("half:", ray.get(half.ready.remote()), eventually(lambda: free(ray, "CPU"), [1.5]))
    disk = Holder.options(resources={"disk": 0.25}).remote()
    print(
        "disk:", sorted(ray.get(disk.ready.remote()).items()), eventually(lambda: free(ray, "CPU", "disk"), [0.5, 0.25])
    )
    del two, half, disk, default
    print("after:", eventually(lambda: free(ray, "CPU", "disk"), [4.0, 2.0]))


@own_session
def used_up_is_absent(ray: Any) -> None:
    ray.init(**START)

    @ray.remote(num_cpus=4, resources={"disk": 2})
    class All:
        def ready(self) -> bool:
            return True

    actor = All.remote()
    ray.get(actor.ready.remote())
    eventually(lambda: free(ray, "CPU", "disk"), [0.0, 0.0])
    print("CPU" in ray.available_resources(), "disk" in ray.available_resources())
    ray.kill(actor)
    print(eventually(lambda: free(ray, "CPU", "disk"), [4.0, 2.0]))


@own_session
def tasks_wait_for_resources(ray: Any) -> None:
    ray.init(**START)

    @ray.remote(num_cpus=0, max_concurrency=8)
    class Meter:
        def __init__(self) -> None:
            self.lock = threading.Lock()
            self.inside = 0
            self.most = 0

        def enter(self) -> None:
            with self.lock:
                self.inside += 1
                self.most = max(self.most, self.inside)

        def leave(self) -> None:
            with self.lock:
                self.inside -= 1

        def read(self) -> int:
            return self.most

    @ray.remote(num_cpus=0, resources={"disk": 1})
    def work(meter: Any) -> None:
        ray.get(meter.enter.remote())
        threading.Event().wait(0.02)
        ray.get(meter.leave.remote())

    meter = Meter.remote()
    ray.get([work.remote(meter) for _ in range(8)])
    print("never more than two:", ray.get(meter.read.remote()) <= 2)


@own_session
def an_actor_waits_for_another(ray: Any) -> None:
    ray.init(**START)

    @ray.remote(num_cpus=3)
    class Big:
        def ready(self) -> str:
            return "ready"

    first = Big.remote()
    print(ray.get(first.ready.remote()))
    second = Big.remote()
    print(len(ray.wait([second.ready.remote()], timeout=0.5)[0]))
    ray.kill(first)
    print(ray.get(second.ready.remote(), timeout=30))


@own_session
def a_blocked_task_gives_its_cpu_back(ray: Any) -> None:
    ray.init(num_cpus=1, log_to_driver=False)

    @ray.remote
    def inner() -> str:
        return "inner"

    @ray.remote
    def outer() -> str:
        return "outer " + ray.get(inner.remote())

    print(ray.get(outer.remote(), timeout=60))


@own_session
def a_blocked_task_keeps_the_rest(ray: Any) -> None:
    ray.init(num_cpus=2, resources={"disk": 1}, log_to_driver=False)

    @ray.remote(resources={"disk": 1})
    def needs_disk() -> str:
        return "ran"

    @ray.remote(resources={"disk": 1})
    def outer() -> int:
        return len(ray.wait([needs_disk.remote()], timeout=0.5)[0])

    print("an inner task got the disk:", ray.get(outer.remote(), timeout=60))


@own_session
def many_actors_without_cpus(ray: Any) -> None:
    ray.init(num_cpus=1, log_to_driver=False)

    @ray.remote
    class Small:
        def read(self, i: int) -> int:
            return i

    actors = [Small.remote() for _ in range(5)]
    print(ray.get([actor.read.remote(i) for i, actor in enumerate(actors)]))
    print(eventually(lambda: free(ray, "CPU"), [1.0]))


@own_session
def memory_is_reserved(ray: Any) -> None:
    ray.init(num_cpus=2, log_to_driver=False)
    total = ray.cluster_resources()["memory"]

    @ray.remote(memory=50 * 2**20)
    class Big:
        def read(self) -> dict[str, float]:
            return ray.get_runtime_context().get_assigned_resources()

    big = Big.remote()
    print(sorted(ray.get(big.read.remote()).items()))
    used = eventually(lambda: total - ray.available_resources()["memory"], 50.0 * 2**20)
    print(used == 50 * 2**20)


@own_session
def fractions_add_up(ray: Any) -> None:
    ray.init(num_cpus=1, log_to_driver=False)

    @ray.remote(num_cpus=0.1)
    class Tenth:
        def ready(self) -> bool:
            return True

    actors = [Tenth.remote() for _ in range(10)]
    print(all(ray.get([actor.ready.remote() for actor in actors])))
    print(eventually(lambda: free(ray, "CPU"), [0.0]))
    del actors
    print(eventually(lambda: free(ray, "CPU"), [1.0]))


@case
def assigned(ray: Any) -> None:
    @ray.remote
    def assigned() -> list[tuple[str, float]]:
        return sorted(ray.get_runtime_context().get_assigned_resources().items())

    print(ray.get(assigned.remote()))
    print(ray.get(assigned.options(num_cpus=0.25).remote()), ray.get(assigned.options(num_cpus=0).remote()))
    print(ray.get(assigned.options(num_cpus=2, memory=1000).remote()))
