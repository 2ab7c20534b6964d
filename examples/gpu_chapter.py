"""The GPU chapter, walked through: kernels in functions and actors, whole and fractional GPUs, and the ways to the CPU.

Needs no GPU: where there is none, GPUs are declared and numba's simulator runs the kernels (slowly, so the arrays are
small). Run it with `python examples/gpu_chapter.py`.
"""

from __future__ import annotations

import glob
import os
import time
from typing import Any

HAS_GPU = bool(glob.glob("/dev/nvidia[0-9]*"))
if not HAS_GPU:
    # numba reads this when it is first imported: here, and in the workers, which inherit the driver's environment.
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import eagleray as ray  # noqa: E402
import numpy as np  # noqa: E402
from numba import cuda  # noqa: E402

#: How long the probe may look for a GPU, as in the book: long enough for a cluster to add a machine that has one.
PROBE_SECONDS = float(os.environ.get("PROBE_SECONDS", "240"))
THREADS = 32


@cuda.jit
def mul_two(io_array: Any) -> None:
    """Doubles each element where it lies."""
    position = cuda.grid(1)
    if position < io_array.size:
        io_array[position] *= 2


def launch(device_array: Any) -> None:
    blocks = (device_array.size + THREADS - 1) // THREADS
    mul_two[blocks, THREADS](device_array)


def mul_two_cuda(array: Any) -> Any:
    """Doubles on the device: an explicit copy there and back, because arrays from the object store are read-only."""
    device_array = cuda.to_device(array)
    launch(device_array)
    return device_array.copy_to_host()


def mul_two_np(array: Any) -> Any:
    return array * 2


@ray.remote(num_gpus=1)
def remote_mul_two(array: Any) -> tuple[Any, list[int], str | None]:
    return mul_two_cuda(array), ray.get_gpu_ids(), os.environ.get("CUDA_VISIBLE_DEVICES")


@ray.remote(num_gpus=1)
class DeviceArray:
    """Holds a GPU for its lifetime and its array in that GPU's memory: nothing is copied between calls."""

    def __init__(self, array: Any) -> None:
        self.array = cuda.to_device(array)

    def mul_two(self) -> None:
        launch(self.array)

    def read(self) -> Any:
        return self.array.copy_to_host()


@ray.remote
class WhichGPU:
    def ids(self) -> list[int]:
        return ray.get_gpu_ids()


@ray.remote
def mul_two_if_possible(array: Any) -> tuple[str, Any]:
    """Takes the GPU in a try block: a device that another process leaks memory on is as good as none."""
    try:
        return "GPU", mul_two_cuda(array)
    except Exception as error:
        return f"CPU, because of {type(error).__name__}", mul_two_np(array)


@ray.remote
def mul_two_by_flag(array: Any, use_gpu: bool) -> Any:
    return (mul_two_cuda if use_gpu else mul_two_np)(array)


def title(text: str) -> None:
    print(f"\n== {text}", flush=True)


def wait_until_free(gpus: float) -> None:
    """A killed actor gives its GPU back a moment later; the ids below are those of an idle machine."""
    while ray.available_resources().get("GPU") != gpus:
        time.sleep(0.01)


def kernel_in_a_function(array: Any) -> None:
    title("A kernel in a remote function")
    doubled, ids, visible = ray.get(remote_mul_two.remote(array))
    assert (doubled == array * 2).all()
    print(f"mul_two made {array[:4]} into {doubled[:4]}")
    print(f"the task was given GPU ids {ids} and saw CUDA_VISIBLE_DEVICES={visible}")


def array_that_stays(array: Any) -> None:
    title("An actor that keeps its array on the device")
    actor = DeviceArray.remote(array)
    for _ in range(3):
        actor.mul_two.remote()
    result = ray.get(actor.read.remote())
    assert (result == array * 8).all()
    print(f"three kernels, one copy back: {array[:4]} became {result[:4]}")
    ray.kill(actor)


def whole_and_fractional() -> None:
    title("Whole and fractional GPUs")
    wait_until_free(2)
    whole = [WhichGPU.options(num_gpus=1).remote() for _ in range(2)]
    print("two actors with num_gpus=1 got", sorted(ray.get([actor.ids.remote() for actor in whole])))
    for actor in whole:
        ray.kill(actor)
    wait_until_free(2)
    halves = []
    for _ in range(3):
        halves.append(WhichGPU.options(num_gpus=0.5).remote())
        ray.get(halves[-1].ids.remote())  # placed before the next one asks
    print("three actors with num_gpus=0.5 got", ray.get([actor.ids.remote() for actor in halves]))
    for actor in halves:
        ray.kill(actor)
    wait_until_free(2)


def processes_that_end() -> None:
    title("max_calls: memory of a GPU cannot leak from a process that ended")
    for max_calls in (1, 0):

        @ray.remote(num_gpus=1, max_calls=max_calls)
        def process() -> int:
            return os.getpid()

        pids = {ray.get(process.remote()) for _ in range(3)}
        print(f"max_calls={max_calls}: 3 calls ran in {len(pids)} process(es)")


def probe_first(array: Any) -> None:
    title("To the CPU by a probe with a time limit")

    @ray.remote(num_gpus=1)
    def probe() -> bool:
        return True

    started = time.monotonic()
    ready, _ = ray.wait([probe.remote()], timeout=PROBE_SECONDS)
    seconds = time.monotonic() - started
    resources: dict[str, float] = {"num_gpus": 1} if ready else {"num_cpus": 2}
    print(f"no GPU here, known after {seconds:.1f} s of the {PROBE_SECONDS:.0f} s allowed: asking for {resources}")

    @ray.remote(**resources)
    def work(array: Any) -> Any:
        return mul_two_cuda(array) if "num_gpus" in resources else mul_two_np(array)

    print("done with these resources:", ray.get(work.remote(array))[:4])


def try_and_fall_back(array: Any) -> None:
    title("To the CPU by trying the GPU and catching the error")
    no_simulator = {"env_vars": {"NUMBA_ENABLE_CUDASIM": "0"}}
    where, doubled = ray.get(mul_two_if_possible.options(runtime_env=no_simulator).remote(array))
    print(f"in the task: done on the {where}: {doubled[:4]}")
    try:
        ray.get(remote_mul_two.remote(array), timeout=PROBE_SECONDS)
    except (ray.exceptions.TaskUnschedulableError, ray.exceptions.GetTimeoutError) as error:
        print(f"in the driver: {type(error).__name__}, so here: {mul_two_np(array)[:4]}")


def choose_by_flag(array: Any) -> None:
    title("To the CPU by a flag that picks the function")
    for use_gpu in (True, False):
        chosen = mul_two_by_flag.options(num_gpus=int(use_gpu))
        print(f"use_gpu={use_gpu}: {ray.get(chosen.remote(array, use_gpu))[:4]}")


def main() -> None:
    print("Kernels run on", "a real GPU." if HAS_GPU else "numba's simulator: this machine has no GPU.")
    array = np.arange(64, dtype=np.float32)
    with ray.init(num_cpus=4, num_gpus=2):  # declared: no hardware is needed to try out scheduling
        kernel_in_a_function(array)
        array_that_stays(array)
        whole_and_fractional()
        processes_that_end()
        choose_by_flag(array)
    with ray.init(num_cpus=4, num_gpus=0):
        probe_first(array)
        try_and_fall_back(array)
    print("\nLook at: the ids (0 and 1; [0], [0], [1]), one process per call with max_calls=1, and the short probe.")


if __name__ == "__main__":
    main()
