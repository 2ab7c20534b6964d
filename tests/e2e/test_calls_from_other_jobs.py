"""An actor that other programs than its own call: what they give it and get from it may be large."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import eagleray
import numpy as np

MIB = 1 << 20

#: The other program. Its arguments: the session, and how many bytes a large value has.
CALLER = """
import sys
import eagleray as ray
import numpy as np

ray.init(address=sys.argv[1], namespace="shared")
actor = ray.get_actor("worker")
size = int(sys.argv[2])
assert ray.get(actor.make.remote(size)).nbytes == size
assert ray.get(actor.make.remote(200_000)).nbytes == 200_000
assert ray.get(actor.size.remote(np.zeros(size, np.uint8))) == size
assert ray.get(actor.size.remote(ray.put(np.zeros(size, np.uint8)))) == size
assert ray.get(actor.size.remote(actor.make.remote(size))) == size
assert ray.get(ray.remote(lambda array: array.nbytes).remote(actor.make.remote(size))) == size
assert [each.nbytes for each in ray.get(actor.two.options(num_returns=2).remote(size))] == [size, 200_000]
inner = ray.get(actor.put.remote(size))[0]
assert ray.get(inner).nbytes == size
items = actor.items.options(num_returns="streaming").remote(size)
assert [ray.get(item).nbytes for item in items] == [size, 200_000, size]
try:
    ray.get(actor.fail.remote(size))
except ValueError as error:
    assert len(error.cause.load) == size
else:
    raise AssertionError("nothing was raised")
print("all is well")
"""


def test_large_values_pass_between_jobs() -> None:
    size = 70 * MIB
    with eagleray.init(
        address="local", num_cpus=2, object_store_memory=800 * MIB, namespace="shared", log_to_driver=False
    ) as context:

        @eagleray.remote(num_cpus=0)
        class Worker:
            def make(self, size: int) -> Any:
                return np.zeros(size, np.uint8)

            def two(self, size: int) -> Any:
                return np.zeros(size, np.uint8), np.zeros(200_000, np.uint8)

            def size(self, array: Any) -> int:
                return int(array.nbytes)

            def put(self, size: int) -> Any:
                return [eagleray.put(np.zeros(size, np.uint8))]

            def items(self, size: int) -> Any:
                yield np.zeros(size, np.uint8)
                yield np.zeros(200_000, np.uint8)
                yield np.zeros(size, np.uint8)

            def fail(self, size: int) -> None:
                error = ValueError("large")
                error.load = bytes(size)  # type: ignore[attr-defined]
                raise error

        worker = Worker.options(name="worker", lifetime="detached").remote()
        command = [sys.executable, "-c", CALLER, context["address"], str(size)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.stdout == "all is well\n", done.stderr
        assert eagleray.get(worker.size.remote(np.zeros(1, np.uint8))) == 1


#: Makes a detached actor whose class has more bytes than functions that travel in messages, and ends.
MAKER = """
import os, sys
import eagleray as ray

ray.init(address=sys.argv[1], namespace="shared")
captured = os.urandom(7 << 20)


@ray.remote(num_cpus=0)
class Holder:
    def size(self):
        return len(captured)


made = Holder.options(name="holder", lifetime="detached", max_restarts=1).remote()
print(ray.get(made.size.remote()))
"""


def test_a_detached_actor_with_a_large_class_restarts_after_its_program_has_ended() -> None:
    with eagleray.init(address="local", num_cpus=2, namespace="shared", log_to_driver=False) as context:
        command = [sys.executable, "-c", MAKER, context.address_info["address"]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert done.stdout == f"{7 * MIB}\n", done.stdout + done.stderr
        holder = eagleray.get_actor("holder")
        eagleray.kill(holder, no_restart=False)
        assert eagleray.get(holder.size.remote(), timeout=60) == 7 * MIB
        eagleray.kill(holder)
