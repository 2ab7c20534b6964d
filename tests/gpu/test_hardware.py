"""What only a real GPU can show. `tests/gpu/run.sh` runs it; elsewhere every test is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import eagleray as ray
import numpy as np
import pytest
from eagleray import kernels

HAS_GPU = "cuda:0" in kernels.devices()
pytestmark = pytest.mark.skipif(not HAS_GPU, reason="no CUDA device")

HOST = np.arange(1000, dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    gpus = os.environ.get("EAGLERAY_TEST_GPUS")  # where the node would find none by itself
    with ray.init(address="local", num_gpus=int(gpus) if gpus else None, log_to_driver=False):
        yield


def on_gpu() -> Any:
    return kernels.array(HOST, device="cuda:0")


def test_a_worker_sees_only_its_device() -> None:
    @ray.remote(num_gpus=1)
    def seen() -> tuple[str | None, list[str], str]:
        return os.environ.get("CUDA_VISIBLE_DEVICES"), kernels.devices(), str(kernels.default_device())

    variable, devices, default = ray.get(seen.remote())
    assert variable is not None and "," not in variable
    assert devices == ["cpu", "cuda:0"] and default == "cuda:0"


def test_a_worker_without_a_gpu_sees_none() -> None:
    @ray.remote
    def seen() -> tuple[list[str], str]:
        return kernels.devices(), str(kernels.default_device())

    assert ray.get(seen.remote()) == (["cpu"], "cpu")


def test_memory_of_a_task_is_free_for_the_next() -> None:
    """Each takes most of the device: the second finds it only when the first one's process has ended."""
    info = kernels.device_info("cuda:0")
    most = int(info.free_memory * 0.8) // 4

    @ray.remote(num_gpus=1)
    def takes(count: int) -> int:
        return kernels.empty(count, dtype="float32", device="cuda:0").nbytes

    assert ray.get([takes.remote(most) for _ in range(3)]) == [most * 4] * 3


def test_too_much_is_a_typed_error() -> None:
    with pytest.raises(kernels.OutOfMemoryError, match="cuda:0"):
        kernels.empty(2**42, dtype="uint8", device="cuda:0")


def test_an_array_reaches_another_process() -> None:
    @ray.remote(num_gpus=0.5)
    class Holder:
        def __init__(self) -> None:
            self.array = kernels.full(1000, 3.0, dtype="float32", device="cuda:0")

        def get(self) -> Any:
            return self.array

        def total(self, array: Any) -> float:
            return float(kernels.sum(array))

    first, second = Holder.remote(), Holder.remote()
    assert ray.get(second.total.remote(first.get.remote())) == 3000.0


def test_the_users_source_is_compiled() -> None:
    source = """
        extern "C" __global__ void twice(float* x, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) x[i] *= 2;
        }
    """
    array = on_gpu()
    kernel = kernels.compile(source, "twice")
    kernel((4, 1, 1), (256, 1, 1), [array, np.int32(HOST.size)])
    np.testing.assert_array_equal(array.numpy(), HOST * 2)


def test_torch_shares_memory() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch is built without CUDA")
    array = on_gpu()
    tensor = torch.from_dlpack(array)
    tensor *= 2
    torch.cuda.synchronize()
    np.testing.assert_array_equal(array.numpy(), HOST * 2)
    back = kernels.from_dlpack(tensor)
    kernels.mul_two(back, out=back)
    kernels.synchronize("cuda:0")
    np.testing.assert_array_equal(tensor.cpu().numpy(), HOST * 4)


def test_cupy_shares_memory() -> None:
    cupy = pytest.importorskip("cupy")
    array = on_gpu()
    view = cupy.asarray(array)
    view += 1
    cupy.cuda.Device().synchronize()
    np.testing.assert_array_equal(array.numpy(), HOST + 1)
    back = kernels.asarray(cupy.asarray(HOST))
    np.testing.assert_array_equal(kernels.mul_two(back).numpy(), HOST * 2)


def test_numba_shares_memory() -> None:
    cuda = pytest.importorskip("numba.cuda")
    if not cuda.is_available():
        pytest.skip("numba finds no driver")
    array = on_gpu()
    view = cuda.as_cuda_array(array)
    np.testing.assert_array_equal(view.copy_to_host(), HOST)
    back = kernels.asarray(cuda.to_device(HOST))
    np.testing.assert_array_equal(kernels.mul_two(back).numpy(), HOST * 2)
