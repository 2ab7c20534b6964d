"""What a node with a real GPU offers, how its workers are kept to it, and whose memory is watched.

`tests/gpu/run.sh` runs it; elsewhere every test is skipped. Workers use torch, cupy and jax where these are installed
with CUDA, as users do; the tests of a library that is missing are skipped one by one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import eagleray as ray
import numpy as np
import pytest
from eagleray import kernels
from eagleray.exceptions import GpuMemoryExceededError

HAS_GPU = "cuda:0" in kernels.devices()
STAND_IN = bool(os.environ.get("EAGLERAY_TEST_GPUS"))
pytestmark = pytest.mark.skipif(not HAS_GPU or STAND_IN, reason="no CUDA device that the node detects")

MIB = 2**20


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    with ray.init(address="local", log_to_driver=False):
        yield


def with_cuda(module: str) -> bool:
    """Whether a library sees the GPU. A process of its own asks, so that this one takes no device memory for it."""
    asks = {
        "torch": "import torch; assert torch.cuda.is_available()",
        "cupy": "import cupy; assert cupy.cuda.runtime.getDeviceCount()",
        "jax": "import jax; assert jax.devices()[0].platform == 'gpu'",
    }
    return subprocess.run([sys.executable, "-c", asks[module]], capture_output=True).returncode == 0


def needs(module: str) -> Any:
    return pytest.mark.skipif(not HAS_GPU or not with_cuda(module), reason=f"{module} sees no GPU here")


def gpu_memory() -> list[dict[str, Any]]:
    (node,) = ray.nodes()
    found: list[dict[str, Any]] = node.get("GpuMemory", [])
    return found


def until(seconds: float, what: Any) -> Any:
    """The first true answer of what(); a failure when there is none in time."""
    end = time.monotonic() + seconds
    while not (answer := what()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)
    return answer


def test_the_node_detects_its_gpus_their_type_and_memory() -> None:
    found = ray.cluster_resources()
    listed = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert found["GPU"] == len(listed)
    name, memory = listed[0].rsplit(",", 1)
    types = [key.removeprefix("accelerator_type:") for key in found if key.startswith("accelerator_type:")]
    assert len(types) == 1 and types[0] in name.replace(" ", "-"), (types, name)

    @ray.remote(gpu_memory="1GiB", accelerator_type=types[0])
    def where() -> Any:
        return ray.get_gpu_ids(), ray.get_runtime_context().get_accelerator_ids()["GPU"]

    assert ray.get(where.remote()) == ([0], ["0"])
    assert abs(ray.cluster_resources()["gpu_memory"] / MIB - float(memory)) < 0.02 * float(memory)


def test_more_memory_than_a_device_has_is_refused_at_once() -> None:
    @ray.remote(gpu_memory="100TiB")
    def never() -> None: ...

    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="gpu_memory"):
        ray.get(never.remote(), timeout=20)


@needs("torch")
def test_torch_in_a_worker_sees_one_gpu_or_none() -> None:
    def seen() -> tuple[bool, int]:
        import torch

        return torch.cuda.is_available(), torch.cuda.device_count()

    assert ray.get(ray.remote(num_gpus=1)(seen).remote()) == (True, 1)
    assert ray.get(ray.remote(seen).remote()) == (False, 0)


@needs("jax")
def test_jax_in_a_worker_computes_on_the_gpu() -> None:
    @ray.remote(num_gpus=1, runtime_env={"env_vars": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}})
    def compute() -> tuple[str, float]:
        import jax

        array = jax.numpy.arange(1000.0)
        return jax.devices()[0].platform, float((array * 2).sum())

    assert ray.get(compute.remote()) == ("gpu", 999000.0)


@needs("torch")
def test_four_actors_share_a_gpu_and_keep_a_model_there() -> None:
    @ray.remote(num_gpus=0.25)
    class Model:
        def __init__(self, seed: int) -> None:
            import torch

            torch.manual_seed(seed)
            self.net = torch.nn.Linear(64, 8).cuda()

        def predict(self, rows: Any) -> Any:
            import torch

            with torch.no_grad():
                return self.net(torch.from_numpy(rows).cuda()).cpu().numpy()

        def weights(self) -> Any:
            return {name: value.cpu().numpy() for name, value in self.net.state_dict().items()}

    rows = np.random.default_rng(1).random((32, 64), dtype=np.float32)
    models = [Model.remote(seed) for seed in range(4)]
    for model in models:
        weights = ray.get(model.weights.remote())
        expected = rows @ weights["weight"].T + weights["bias"]
        np.testing.assert_allclose(ray.get(model.predict.remote(rows)), expected, atol=1e-4)
    assert ray.available_resources().get("GPU", 0.0) == ray.cluster_resources()["GPU"] - 1


@needs("cupy")
def test_cupy_keeps_an_array_in_an_actor() -> None:
    @ray.remote(num_gpus=1)
    class Holder:
        def __init__(self, size: int) -> None:
            import cupy

            self.array = cupy.arange(size, dtype=cupy.float64)

        def step(self) -> None:
            self.array += 1

        def total(self) -> float:
            return float(self.array.sum())

    holder = Holder.remote(1000)
    for _ in range(10):
        holder.step.remote()
    assert ray.get(holder.total.remote()) == 499500.0 + 10_000


def test_a_killed_actors_memory_is_free_for_the_next() -> None:
    """The second takes most of the device, so it finds room only when nothing of the first is left."""
    most = int(kernels.device_info("cuda:0").free_memory * 0.8) // 4

    @ray.remote(num_gpus=1)
    class Takes:
        def __init__(self, count: int) -> None:
            self.array = kernels.full(count, 1.0, dtype="float32", device="cuda:0")

        def pid(self) -> int:
            return os.getpid()

        def first(self) -> float:
            return float(self.array[:1].numpy()[0])

    first = Takes.remote(most)
    os.kill(ray.get(first.pid.remote()), signal.SIGKILL)
    second = Takes.remote(most)
    assert ray.get(second.first.remote(), timeout=60) == 1.0


def test_the_node_shows_who_holds_how_much() -> None:
    @ray.remote(gpu_memory="2GiB")
    class Holds:
        def __init__(self) -> None:
            self.array = kernels.full(256 * MIB // 4, 1.0, dtype="float32", device="cuda:0")

        def pid(self) -> int:
            return os.getpid()

    holder = Holds.remote()
    pid = ray.get(holder.pid.remote())

    def row() -> Any:
        return [one for one in gpu_memory() if one["pid"] == pid and one["used"] >= 256 * MIB]

    (found,) = until(10, row)
    assert found["gpu_memory"] == 2048 * MIB and found["name"].endswith("Holds") and found["used"] < 2048 * MIB, found


def test_a_task_above_its_memory_is_ended() -> None:
    @ray.remote(gpu_memory="1GiB", gpu_memory_enforce=True)
    def greedy() -> None:
        held = [kernels.full(512 * MIB // 4, 1.0, dtype="float32", device="cuda:0") for _ in range(6)]
        time.sleep(60)
        del held

    began = time.monotonic()
    with pytest.raises(GpuMemoryExceededError, match="greedy"):
        ray.get(greedy.remote(), timeout=50)
    assert time.monotonic() - began < 30


@needs("torch")
def test_a_function_that_leaks_ends_its_worker_after_the_call() -> None:
    @ray.remote(num_gpus=1, max_calls="on_leak")
    def leaks(grow: bool) -> int:
        import torch

        kept = globals().setdefault("_kept", [])
        kept.append(torch.ones(64 * MIB // 4 if grow or not kept else 1, device="cuda"))
        return os.getpid()

    first = ray.get(leaks.remote(False))  # what the first call leaves is the baseline
    assert ray.get(leaks.remote(True)) == first
    assert ray.get(leaks.remote(False)) != first


@needs("torch")
def test_a_torch_tensor_of_the_gpu_is_refused_with_what_to_do() -> None:
    @ray.remote(num_gpus=1)
    def gives() -> Any:
        import torch

        return torch.ones(4, device="cuda")

    with pytest.raises(TypeError, match=r"cpu\(\)|numpy|from_dlpack|kernels"):
        ray.get(gives.remote())


def test_fallback_takes_the_cpu_while_the_gpu_is_taken() -> None:
    @ray.remote(num_gpus=1)
    class Blocks:
        def ready(self) -> bool:
            return True

    @ray.remote(num_gpus=1, fallback=[{"num_cpus": 1}], fallback_after=0.2)
    def step() -> str:
        return str(kernels.default_device())

    assert ray.get(step.remote()) == "cuda:0"
    blocks = Blocks.remote()
    ray.get(blocks.ready.remote())
    assert ray.get(step.remote(), timeout=30) == "cpu"
