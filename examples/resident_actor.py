"""Data that stays on the device: one actor holds an array and calls kernels on it, against copying at each call.

The array is on the GPU that the actor was assigned, and in the actor's own memory where there is none: the code is the
same. Run it with `python examples/resident_actor.py`; `examples/residentgo` does the same in Go.
"""

from __future__ import annotations

import time
from typing import Any

import eagleray as ray
import numpy as np
from eagleray import kernels

CALLS = 100
SHAPE = (1024, 1024)  # float32: 4 MiB


class Resident:
    """Holds an array on its device for its lifetime."""

    def __init__(self, start: Any) -> None:
        self.array = kernels.array(start, device=kernels.default_device())

    def where(self) -> tuple[str, list[str]]:
        return str(self.array.device), ray.get_runtime_context().get_accelerator_ids()["GPU"]

    def mul_two(self) -> None:
        kernels.mul_two(self.array, out=self.array)

    def divide(self, number: float) -> None:
        kernels.scale(self.array, 1 / number, out=self.array)

    def fetch(self) -> Any:
        """The one explicit copy to the host."""
        return self.array.numpy()

    def copy_mul_two(self, array: Any) -> Any:
        """What a function does that keeps nothing: there, one kernel, and back."""
        return kernels.mul_two(kernels.array(array, device=kernels.default_device())).numpy()


def main() -> None:
    start = np.ones(SHAPE, dtype=np.float32)
    alternatives = [{"num_cpus": 1}]  # without a GPU the same actor runs on a CPU
    holder: Any = ray.remote(num_gpus=1, fallback=alternatives)(Resident).remote(start)
    device, ids = ray.get(holder.where.remote())
    print(f"the array lives on {device}, assigned GPU ids {ids}")

    began = time.perf_counter()
    for number in range(1, CALLS + 1):
        holder.mul_two.remote()
        if number % 10 == 0:
            holder.divide.remote(2**10)  # so that it stays within float32
    result = ray.get(holder.fetch.remote())
    resident = time.perf_counter() - began
    assert np.array_equal(result, start), "each ten doublings are halved ten times"

    array = start
    began = time.perf_counter()
    for number in range(1, CALLS + 1):
        array = ray.get(holder.copy_mul_two.remote(array))
        if number % 10 == 0:
            array = array / np.float32(2**10)
    copied = time.perf_counter() - began
    assert np.array_equal(array, start), "both ways compute the same"
    print(f"{CALLS} calls on {start.nbytes / 2**20:.0f} MiB: {resident * 1e3:.1f} ms on resident data, ", end="")
    print(f"{copied * 1e3:.1f} ms when each call copies: {copied / resident:.1f} times as long")


if __name__ == "__main__":
    with ray.init():
        main()
