"""Measures kernels on the first CUDA device: bandwidth beside the device's own copy, launch overhead, fresh workers.

bandwidth.py --device          prints the device's name; exit status 1 where there is none
bandwidth.py --json FILE       measures, prints a table, writes FILE
bandwidth.py --every-kernel    runs each kernel once on small arrays and compares with the CPU (for compute-sanitizer)

--small takes arrays so small that the numbers mean nothing: it shows that the program runs, on the stand-in for the
driver too. --gpus N declares N GPUs to the sessions that it starts, where the node would find none by itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from eagleray import kernels

MIB = 2**20
AIM = 0.9  # of the bandwidth of the device's own copy


DEVICES = ("cpu", "cuda:0")
HOST = np.arange(1000, dtype=np.float32)


class Amounts(NamedTuple):
    """How much is measured."""

    sizes: list[int]  # bytes of an array
    repeats: int
    launches: int
    matmul: int
    resident: int  # elements
    calls: int


FULL = Amounts([16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB], 20, 10_000, 4096, 16 * MIB, 100)
SMALL = Amounts([MIB // 16], 2, 100, 64, 1024, 5)


def device_name() -> str | None:
    """The name of the first CUDA device; None where there is none."""
    if "cuda:0" not in kernels.devices():
        return None
    return kernels.device_info("cuda:0").name


def gpu_seconds(call: Callable[[], object], repeats: int) -> float:
    """The median time of a call on the device, by events around it."""
    for _ in range(3):
        call()
    kernels.synchronize("cuda:0")
    times = []
    for _ in range(repeats):
        begin = kernels.Event()
        call()
        end = kernels.Event()
        end.synchronize()
        times.append(end.since(begin) / 1000)
    return median(times)


def bandwidth(amounts: Amounts) -> dict[str, dict[str, float]]:
    """GB/s read and written by a copy within the device and by kernels in place, by array size."""
    table: dict[str, dict[str, float]] = {}
    for size in amounts.sizes:
        array = kernels.full(size // 4, 1.0, dtype="float32", device="cuda:0")
        other = kernels.full(size // 4, 1.0, dtype="float32", device="cuda:0")
        calls: dict[str, tuple[Callable[[], object], int]] = {
            "copy": (lambda a=array, b=other: kernels.copy(a, out=b), 2),
            "mul_two": (lambda a=array: kernels.mul_two(a, out=a), 2),
            "relu": (lambda a=array: kernels.relu(a, out=a), 2),
            "add": (lambda a=array, b=other: kernels.add(a, b, out=a), 3),
            "sum": (lambda a=array: kernels.sum(a), 1),
        }
        row = {name: passes * size / gpu_seconds(call, amounts.repeats) / 1e9 for name, (call, passes) in calls.items()}
        row["mul_two beside copy"] = row["mul_two"] / row["copy"]
        table[f"{size / MIB:g} MiB"] = row
        array.free()
        other.free()
    return table


def launch_microseconds(count: int) -> float:
    """One small kernel after the other, without waiting: what a launch costs the host."""
    array = kernels.zeros(16, dtype="float32", device="cuda:0")
    kernels.mul_two(array, out=array)
    kernels.synchronize("cuda:0")
    started = time.perf_counter()
    for _ in range(count):
        kernels.mul_two(array, out=array)
    kernels.synchronize("cuda:0")
    return (time.perf_counter() - started) / count * 1e6


def matmul_teraflops(size: int, repeats: int) -> float:
    array = kernels.full((size, size), 0.5, dtype="float32", device="cuda:0")
    return 2 * size**3 / gpu_seconds(lambda: kernels.matmul(array, array), repeats) / 1e12


def workers(amounts: Amounts, gpus: int | None) -> dict[str, float]:
    """Milliseconds of a task in its fresh worker, without and with a CUDA context, and of calls on resident data."""
    import eagleray as ray

    @ray.remote(num_gpus=1)
    def nothing() -> None:
        return None

    @ray.remote(num_gpus=1)
    def context() -> float:
        return float(kernels.mul_two(kernels.full(16, 1.0, dtype="float32")).numpy()[0])

    @ray.remote(num_gpus=1)
    class Resident:
        def __init__(self) -> None:
            self.array = kernels.full(amounts.resident, 1.0, dtype="float32")

        def step(self) -> None:
            kernels.scale(self.array, 1.0, out=self.array)

        def copied(self, host: Any) -> Any:
            return kernels.scale(kernels.array(host, device="cuda:0"), 1.0).numpy()

    def each(call: Callable[[], object], count: int) -> float:
        call()
        started = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - started) / count * 1000

    with ray.init(address="local", num_gpus=gpus, log_to_driver=False):
        fresh = each(lambda: ray.get(nothing.remote()), min(10, amounts.calls))
        with_context = each(lambda: ray.get(context.remote()), 5)
        holder = Resident.remote()
        host = np.ones(amounts.resident, dtype=np.float32)
        resident = each(lambda: ray.get(holder.step.remote()), amounts.calls)
        copied = each(lambda: ray.get(holder.copied.remote(host)), 5)
    return {
        "GPU task in a fresh worker": fresh,
        "the same with a CUDA context": with_context,
        f"call on {amounts.resident / MIB * 4:g} MiB of resident data": resident,
        f"call that copies {amounts.resident / MIB * 4:g} MiB there and back": copied,
    }


def every_kernel() -> None:
    """Each kernel on small arrays of each type, compared with the same on the CPU."""
    random = np.random.default_rng(7)
    unary = [kernels.mul_two, kernels.relu, kernels.exp, kernels.sum, kernels.max, kernels.min, kernels.mean]
    binary = [kernels.add, kernels.sub, kernels.mul, kernels.div]
    for dtype in ("float16", "float32", "float64", "int32", "int64", "uint8"):
        host = (random.random((17, 33)) * 5 + 1).astype(dtype)
        pair = [kernels.array(host, device=device) for device in DEVICES]
        for call in unary + binary:
            if dtype[0] in "iu" and call in (kernels.exp, kernels.div):
                continue
            results = [call(array, array) if call in binary else call(array) for array in pair]
            values = [np.asarray(r.numpy() if hasattr(r, "numpy") else r, dtype=np.float64) for r in results]
            np.testing.assert_allclose(values[1], values[0], rtol=2e-3 if dtype == "float16" else 1e-5)
    chain = kernels.fuse().scale(0.5).add(1).clip(0, 2).mul()
    pairs = [(kernels.array(HOST, device=device), kernels.array(HOST[::-1], device=device)) for device in DEVICES]
    for call in (
        lambda a, b: chain(a, b),
        lambda a, b: kernels.axpy(3, a, b),
        lambda a, b: kernels.clip(a[::2], 5, 50),
        lambda a, b: kernels.scale(a.reshape(25, 40).T, 3),
        lambda a, b: kernels.dot(a, b),
        lambda a, b: kernels.cast(a, "int32"),
        lambda a, b: kernels.sum(a.reshape(25, 40), 0),
        lambda a, b: kernels.copy(a[::-1]),
    ):
        np.testing.assert_allclose(*(call(*pair).numpy() for pair in pairs), rtol=1e-5)
    host = random.random((65, 65), dtype=np.float32)
    square = [kernels.array(host, device=device) for device in DEVICES]
    np.testing.assert_allclose(*(kernels.matmul(a, a).numpy() for a in square), rtol=1e-4)
    np.testing.assert_allclose(*(kernels.softmax(a).numpy() for a in square), rtol=1e-5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--every-kernel", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--gpus", type=int)
    options = parser.parse_args()
    name = device_name()
    if name is None:
        print("eagleray.kernels sees none")
        return 1
    if options.device:
        print(name)
        return 0
    if options.every_kernel:
        every_kernel()
        return 0
    amounts = SMALL if options.small else FULL
    result: dict[str, Any] = {
        "device": name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "bandwidth_gb_per_s": bandwidth(amounts),
        "launch_us": launch_microseconds(amounts.launches),
        f"matmul_{amounts.matmul}_tflops": matmul_teraflops(amounts.matmul, amounts.repeats),
        "workers_ms": workers(amounts, options.gpus),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    least = min(row["mul_two beside copy"] for row in list(result["bandwidth_gb_per_s"].values())[-2:])
    if least < AIM and not options.small:
        print(f"MISSED: mul_two has {least:.2f} of the copy's bandwidth on large arrays, at least {AIM} is the aim")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
