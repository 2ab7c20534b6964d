"""eagleray.kernels on CUDA devices, through the stand-in for the driver: needs no GPU.

Each program runs in a process of its own: the driver is chosen by variables that are read once.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64") or shutil.which("g++") is None,
    reason="the stand-in is built with g++, for machines that have CUDA",
)


@pytest.fixture(scope="module")
def fake() -> dict[str, str]:
    """The variables that put the stand-in in the driver's place."""
    path = ROOT / "kernels" / "cuda" / "fakecuda" / "src" / "build.py"
    spec = importlib.util.spec_from_file_location("fakecuda_build", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, str] = module.build(ROOT / "build" / "cuda" / "fake")
    return made


@pytest.fixture
def on_fake(fake: dict[str, str], script: Callable[..., Any], tmp_path: Path) -> Callable[..., str]:
    """Runs a program with the stand-in; what it overruns or frees twice is an error."""

    def run(source: str, **variables: str) -> str:
        report = tmp_path / "report"
        env = {**os.environ, **fake, "EAGLERAY_FAKE_CUDA_REPORT": str(report), **variables}
        done = script(source, env=env)
        if report.exists():
            for line in report.read_text().splitlines():
                found = dict(item.split("=") for item in line.split() if "=" in item)
                assert {found[name] for name in ("double_frees", "overruns", "bad_handles")} == {"0"}, line
        return str(done.stdout)

    return run


HEADER = """
import numpy as np, pickle, sys, threading
from eagleray import kernels as k

def raises(kind, words, use):
    try:
        use()
    except kind as problem:
        assert words in str(problem), problem
        return problem
    raise AssertionError(f"no {kind.__name__}")
"""


def program(body: str) -> str:
    """A program that ends by saying so."""
    return HEADER + textwrap.dedent(body) + "\nprint('done')\n"


def test_the_driver_is_not_touched_before_it_is_needed(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        def loaded():
            with open("/proc/self/maps") as maps:
                return "libcuda.so.1" in maps.read()
        k.mul_two(np.ones(3, "f4"))
        k.zeros(3, device="cpu")
        assert not loaded()
        assert k.devices() == ["cpu", "cuda:0", "cuda:1"] and loaded()
        assert k.default_device() == "cuda:0"
        info = k.device_info("cuda:1")
        assert info.total_memory > 0 and info.capability == (8, 0) and info.uuid.startswith("GPU-")
        raises(k.DeviceError, "cuda:2", lambda: k.zeros(3, device="cuda:2"))
        """),
        EAGLERAY_FAKE_CUDA_DEVICES="2",
    )
    assert "done" in out


def test_device_bytes_are_what_arrays_hold(on_fake: Callable[..., str]) -> None:
    on_fake(
        program(
            """
        assert k.device_bytes() == 0
        k.zeros(1, device="cuda:0"), k.zeros(1, device="cuda:1")  # opened, each keeps a few bytes
        base = k.device_bytes()
        assert base < 100
        on_host = k.zeros(1000, device="cpu")
        a, b = k.zeros(1000, dtype="float64", device="cuda:0"), k.zeros(10, dtype="float32", device="cuda:1")
        assert k.device_bytes() == base + 8040
        part = a[10:]
        del a
        assert k.device_bytes() == base + 8040, "a view keeps what it is of"
        b.free()
        assert k.device_bytes() == base + 8000
        k.sum(part)
        del part
        assert k.device_bytes() == base
    """
        ),
        EAGLERAY_FAKE_CUDA_DEVICES="2",
    )


def test_arrays_that_a_kept_worker_does_not_free_are_a_leak(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        """
        import os
        import eagleray as ray
        kept = []
        ray.init(address="local", num_cpus=1, num_gpus=2)

        @ray.remote(num_gpus=1, max_calls="on_leak")
        def f(count):
            from eagleray import kernels
            kept.append(kernels.zeros(2**18, dtype="float64"))
            del kept[count:]
            return kept[0].device, os.getpid()

        seen = [ray.get(f.remote(count)) for count in (1, 1, 1, 2, 1)]
        print({device for device, _ in seen}, [[pid for _, pid in seen].index(pid) for _, pid in seen])
        """,
        EAGLERAY_NVML_LIBRARY="/nonexistent",
    )
    assert out == "{'cuda:0'} [0, 0, 0, 0, 4]\n"


def test_results_are_those_of_the_host(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        random = np.random.default_rng(1)
        def same(ours, theirs, where):
            assert ours.device == "cuda:0" and theirs.device == "cpu", where
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), where
            a, b = ours.astype("float64").numpy(), theirs.astype("float64").numpy()
            eps = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5}.get(ours.dtype.name, 1e-12)
            np.testing.assert_allclose(a, b, rtol=eps, atol=eps, err_msg=str(where))
        layouts = {"packed": lambda a: a, "T": lambda a: a.T, "back": lambda a: a[..., ::-1] if a.ndim else a,
                   "second": lambda a: a[..., ::2] if a.ndim else a}
        chain = k.fuse().scale(2).add(1).clip(1, 9).relu()
        for dtype in ("float16", "bfloat16", "float32", "float64", "int32", "int64", "uint8"):
            for shape in ((), (0,), (7,), (3, 5), (2, 0, 3), (4, 1, 6)):
                x = random.integers(0, 9, shape).astype("f4")
                if "float" in dtype and x.size > 6:
                    x.reshape(-1)[:3] = np.nan, np.inf, -np.inf
                for name, lay in layouts.items():
                    host = lay(k.array(x, dtype, "cpu"))
                    device = lay(k.array(x, dtype, "cuda"))
                    where = (dtype, shape, name)
                    for op in (k.mul_two, k.relu, chain, k.copy, lambda a: k.add(a, 3), lambda a: a * a - a,
                               lambda a: k.clip(a, 1, None), lambda a: k.axpy(2, a, a),
                               lambda a: k.relu(k.clip(a, 0, 9)).astype("float64"),
                               lambda a: a.astype("float16"), lambda a: k.sum(a), lambda a: k.mean(a),
                               lambda a: a.reshape(-1), lambda a: a.broadcast_to((2, *a.shape))):
                        with np.errstate(all="ignore"):
                            same(op(device), op(host), where)
                    if "float" in dtype:
                        for op in (k.exp, lambda a: a / 3, lambda a: 1 / a):
                            same(op(device), op(host), where)
                        if host.ndim and host.size:
                            same(k.softmax(device, 0), k.softmax(host, 0), where)
                    for target in ("int32", "int64", "uint8"):
                        same(device.astype(target), host.astype(target), where)
                    if host.size:
                        same(k.max(device), k.max(host), where)
                        for axis in range(host.ndim):
                            same(k.min(device, axis), k.min(host, axis), where)
                            same(k.sum(device, axis), k.sum(host, axis), where)
                    target = device.copy()
                    assert k.mul_two(target, out=target) is target
                    same(target, k.mul_two(host), where)
        for dtype in ("float16", "float32", "float64"):
            a, b = (k.array(random.standard_normal((5, 7)), dtype, "cpu") for _ in range(2))
            same(a.to("cuda") @ b.to("cuda").T, a @ b.T, dtype)
            same(k.dot(a.to("cuda")[0], b.to("cuda")[1]), k.dot(a[0], b[1]), dtype)
            same(a.to("cuda") @ b.to("cuda")[0], a @ b[0], dtype)
        """)
    )
    assert "done" in out


def test_protocols_of_devices(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        x = np.arange(12, dtype="f4").reshape(3, 4)
        a = k.array(x, device="cuda:1").T
        raises(TypeError, ".numpy()", lambda: np.asarray(a))
        raises(TypeError, ".numpy()", lambda: a.__array__())
        raises(BufferError, ".numpy()", lambda: memoryview(a))
        assert not hasattr(a, "__array_interface__")
        about = a.__cuda_array_interface__
        assert about == {"shape": (4, 3), "typestr": "<f4", "data": (about["data"][0], False), "strides": (4, 16),
                         "version": 3, "stream": 1}
        class Other:
            def __init__(self, about): self.__cuda_array_interface__ = about
            def __dlpack_device__(self): return 2, 1
        other = Other(about)
        b = k.asarray(other)
        assert b.device == "cuda:1" and b._pointer() == a._pointer() and b.tolist() == x.T.tolist()
        held = sys.getrefcount(other)
        view = b[1:]; del b
        assert sys.getrefcount(other) == held
        del view
        assert sys.getrefcount(other) == held - 1
        frozen = k.asarray(Other({**about, "data": (about["data"][0], True)}))
        raises(k.ReadOnlyError, "read-only", lambda: k.mul_two(frozen, out=frozen))
        raises(ValueError, "forbids", lambda: k.asarray(Other({**about, "stream": 0})))
        raises(k.DTypeError, "i2", lambda: k.asarray(Other({**about, "typestr": "<i2"})))
        assert k.mul_two(other).tolist() == (2 * x.T).tolist()  # straight into an operation
        k.asarray(Other({**about, "shape": (0,), "strides": None, "data": (0, False)}))
        assert a.__dlpack_device__() == (2, 1)
        for arguments in ({}, {"stream": 1}, {"stream": -1}, {"max_version": (1, 0)}):
            c = k.from_dlpack(a.__dlpack__(**arguments))
            assert (c._pointer(), c.strides, c.device) == (a._pointer(), a.strides, "cuda:1")
        on_host = k.from_dlpack(a.__dlpack__(dl_device=(1, 0)))
        assert on_host.device == "cpu" and on_host.tolist() == x.T.tolist()
        np.testing.assert_array_equal(np.from_dlpack(a, device="cpu") if np.__version__ >= "2.1" else on_host, x.T)
        raises(BufferError, "cannot be exported", lambda: a.__dlpack__(dl_device=(1, 0), copy=False))
        with k.Stream("cuda:1") as s:
            assert a.__cuda_array_interface__["stream"] == s.native > 2
            assert k.asarray(a).device == "cuda:1"
        pointer = a._pointer()
        a.free()
        assert k.asarray(other).tolist() == x.T.tolist()  # who was shown the pointer still has the memory
        """),
        EAGLERAY_FAKE_CUDA_DEVICES="2",
    )
    assert "done" in out


def test_kernels_of_the_users_own(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program('''
        source = """
        extern "C" __global__ void scale(float *out, const float *x, float s, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) out[i] = x[i] * s * FACTOR;
        }
        """
        kernel = k.compile(source, "scale", options=["-DFACTOR=1"])
        x = k.array(np.arange(100, dtype="f4"))
        out = k.empty(100)
        kernel(4, 32, (out, x, 3, 100))
        k.synchronize()
        assert out.tolist() == [3.0 * i for i in range(100)]
        with k.Stream() as stream:
            kernel((4,), (32, 1, 1), (out, x, np.float32(2), np.int32(100)))
        kernel(4, 32, (out, out, 2.0, 100), stream=stream, shared=16)
        stream.synchronize()
        assert out.tolist() == [4.0 * i for i in range(100)]
        fine = (out, x, 3.0, 100)
        assert x.readonly is False
        kernel(4, 32, (out, x.reshape(10, 10).T.T.reshape(100), 3.0, 100))
        for wrong, kind, words in [
            (fine[:3], k.ArgumentError, "3 arguments for 4"),
            ((out, x, 3.0, 1.5), k.ArgumentError, "integer"),
            ((out, x, 3.0, 2**40), k.ArgumentError, "does not fit"),
            ((out, x, 3.0, 2**70), k.ScalarError, "64 bits"),
            ((out, x, x, 100), k.ArgumentError, "array"),
            ((3, x, 3.0, 100), k.ArgumentError, "array"),
            ((out, x.astype("float64"), 3.0, 100), k.ArgumentError, "float64"),
            ((out, x.to("cpu"), 3.0, 100), k.DeviceError, "cpu"),
            ((out, np.zeros(100, "f4"), 3.0, 100), k.DTypeError, "numpy"),
            ((x.broadcast_to((2, 100)), x, 3.0, 100), k.ReadOnlyError, "read-only"),
            ((out, "text", 3.0, 100), TypeError, "str"),
        ]:
            raises(kind, words, lambda: kernel(4, 32, wrong))
        raises(k.ArgumentError, "grid", lambda: kernel(0, 32, fine))
        raises(k.ArgumentError, "grid", lambda: kernel((1, 1, 1, 1), 32, fine))
        raises(k.ArgumentError, "2048", lambda: kernel(1, 2048, fine))
        gone = k.zeros(100)
        gone.free()
        raises(k.ClosedError, "freed", lambda: kernel(4, 32, (gone, x, 3.0, 100)))
        kernel.close()
        raises(k.ClosedError, "closed", lambda: kernel(4, 32, fine))
        problem = raises(k.CompileError, "does not compile", lambda: k.compile("nonsense", "f"))
        assert "nonsense" in problem.log and pickle.loads(pickle.dumps(problem)).log == problem.log
        raises(k.KernelError, "other", lambda: k.compile(source, "other", ["-DFACTOR=1"]))
        raises(TypeError, "list of strings", lambda: k.compile(source, "scale", options="-G"))
        ''')
    )
    assert "done" in out


def test_devices_are_not_mixed_and_memory_ends(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        a, b, host = k.zeros(3, device="cuda:0"), k.zeros(3, device="cuda:1"), k.zeros(3, device="cpu")
        for other in (b, host, np.zeros(3, "f4")):
            raises(k.DeviceError, "copy one", lambda: a + other)
            raises(k.DeviceError, "copy one", lambda: k.mul_two(a, out=other))
        assert a.to("cuda") is a and (a.to("cuda:1") + b).device == "cuda:1"
        b[:] = 7
        assert k.copy(b, out=host).tolist() == [7] * 3 and k.copy(host, out=a).tolist() == [7] * 3
        stream = k.Stream("cuda:1")
        with stream:
            assert (a + 1).tolist() == [8] * 3  # another device's work is not touched
            c = b + 1
        first, last = k.Event(), stream.record()
        last.synchronize()
        assert last.done and c.tolist() == [8] * 3
        problem = raises(k.OutOfMemoryError, "out of memory", lambda: k.empty(1 << 30, "uint8"))
        assert isinstance(problem, MemoryError) and problem.asked == 1 << 30 and 0 < problem.free <= problem.total
        for _ in range(20):  # each would fill a quarter of the device
            k.empty(1 << 24)
        wrong = []
        def use(x):
            try:
                for _ in range(50):
                    k.mul_two(x, out=x)
            except k.ClosedError:
                pass
            except BaseException as problem:
                wrong.append(problem)
        for _ in range(10):
            x = k.zeros(10000)
            threads = [threading.Thread(target=use, args=(x,)) for _ in range(3)]
            [thread.start() for thread in threads]
            x.free()
            [thread.join() for thread in threads]
        assert not wrong, wrong
        big = k.full((100, 100), 3, "float32")
        here = pickle.loads(pickle.dumps(big))
        assert here._pointer() == big._pointer() and here.readonly and here.device == "cuda:0"
        """),
        EAGLERAY_FAKE_CUDA_DEVICES="2",
    )
    assert "done" in out


def test_a_driver_that_fails(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        raises(k.DriverError, "cuda:0", lambda: k.mul_two(k.zeros(3, device="cuda")).tolist())
        """),
        EAGLERAY_FAKE_CUDA_FAIL="cuLaunchKernel=719",
    )
    assert "done" in out


def test_actors_get_the_device_that_they_were_given(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        import os
        import eagleray as ray

        @ray.remote
        class Resident:
            def __init__(self, size):
                self.data = k.full(size, 1, "float32")
            def double(self, times):
                for _ in range(times):
                    k.mul_two(self.data, out=self.data)
            def where(self):
                with open("/proc/self/maps") as maps:
                    loaded = "libcuda.so.1" in maps.read()
                return (self.data.device, k.devices(), k.default_device(), os.environ.get("CUDA_VISIBLE_DEVICES"),
                        loaded, k.device_info(self.data.device).uuid)
            def whole(self):
                return self.data
            def total(self, x):
                return x.device, x.readonly, float(k.sum(x))

        ray.init(num_cpus=4, num_gpus=2, address="local")
        first, second = (Resident.options(num_gpus=1).remote(1000) for _ in range(2))
        plain = Resident.remote(1000)
        for actor in (first, second, plain):
            ray.get(actor.double.remote(3))
        (da, sa, na, va, la, ua), (db, sb, nb, vb, lb, ub) = ray.get([first.where.remote(), second.where.remote()])
        assert da == db == na == nb == "cuda:0" and sa == sb == ["cpu", "cuda:0"] and la and lb
        assert {va, vb} == {"0", "1"} and ua != ub
        assert ray.get(plain.where.remote())[:5] == ("cpu", ["cpu"], "cpu", "", False)
        whole = ray.get(first.whole.remote())
        assert whole.device == "cuda:0" and whole.tolist() == [8] * 1000  # the driver's own default
        assert ray.get(second.total.remote(whole)) == ("cuda:0", True, 8000.0)
        assert ray.get(plain.total.remote(whole))[::2] == ("cpu", 8000.0)
        assert ray.get(second.total.remote(first.whole.remote())) == ("cuda:0", True, 8000.0)
        ref = ray.put(whole)
        assert ray.get(ref)._pointer() == whole._pointer()

        @ray.remote(num_gpus=1)
        def leak():
            class Other:
                def __init__(self):
                    self.__cuda_array_interface__ = k.zeros(3).__cuda_array_interface__
            return Other()

        @ray.remote(num_gpus=1)
        def fine():
            return k.zeros(3), k.default_device()

        for actor in (first, second):
            ray.kill(actor)
        raises(k.DeviceArrayError, "copy it to the host", lambda: ray.get(leak.remote()))
        array, device = ray.get(fine.remote())
        assert device == "cuda:0" and array.device == "cuda:0"
        """),
        EAGLERAY_FAKE_CUDA_DEVICES="2",
        EAGLERAY_FAKE_CUDA_REPORT="",
    )
    assert "done" in out


SHARING = """
import os
import eagleray as ray

@ray.remote(num_gpus=0.5)
class Holder:
    def __init__(self):
        self.data = k.full((100, 100), 1, "float32")
    def view(self):
        return self.data[10:20, ::2]
    def write(self, value):
        self.data[:] = value
    def let_go(self):
        self.data = None
    def free_memory(self):
        return k.device_info().free_memory

@ray.remote(num_gpus=0.5)
class Reader:
    def keep(self, x):
        self.x = x
        return x.device, x.readonly, x.shape
    def total(self):
        return float(k.sum(self.x))
    def cannot_write(self):
        try:
            k.mul_two(self.x, out=self.x)
        except k.ReadOnlyError:
            return True
    def let_go(self):
        self.x = None

ray.init(num_cpus=4, num_gpus=2, address="local")
holder, reader = Holder.remote(), Reader.remote()
"""


def test_actors_on_one_device_share_memory(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        HEADER
        + SHARING
        + textwrap.dedent("""
        import time
        assert ray.get(reader.keep.remote(holder.view.remote())) == ("cuda:0", True, (10, 50))
        assert ray.get(reader.total.remote()) == 500 and ray.get(reader.cannot_write.remote())
        ray.get(holder.write.remote(3))
        assert ray.get(reader.total.remote()) == 1500  # the same memory
        before = ray.get(holder.free_memory.remote())
        ray.get(holder.let_go.remote())
        assert ray.get(reader.total.remote()) == 1500  # the reader's reference keeps it
        ray.get(reader.let_go.remote())
        deadline = time.monotonic() + 60
        while ray.get(holder.free_memory.remote()) < before + 40_000:
            assert time.monotonic() < deadline, "the holder's memory was not freed"
        print("done")
        """),
        EAGLERAY_FAKE_CUDA_DEVICES="1",
    )
    assert "done" in out


def test_without_ipc_the_staged_copy_is_taken(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        HEADER
        + SHARING
        + textwrap.dedent("""
        assert ray.get(reader.keep.remote(holder.view.remote())) == ("cuda:0", True, (10, 50))
        ray.get(holder.write.remote(3))
        assert ray.get(reader.total.remote()) == 500
        print("done")
        """),
        EAGLERAY_FAKE_CUDA_DEVICES="1",
        EAGLERAY_FAKE_CUDA_FAIL="cuIpcOpenMemHandle_v2=801",
    )
    assert "done" in out


def test_arrays_outlive_their_stream(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        x = k.array(np.arange(5, dtype=np.float32))
        with k.Stream("cuda:0"):
            dropped = k.mul_two(x)
        stream = k.Stream("cuda:0")
        with stream:
            closed = k.mul_two(x)
        stream.close()
        for made in (dropped, closed):
            assert made.numpy().tolist() == [0, 2, 4, 6, 8]
            assert k.add(made, x).numpy().tolist() == [0, 3, 6, 9, 12]
            assert made.sum().item() == 20 and made[1:].to("cpu").tolist() == [2, 4, 6, 8]
            assert k.matmul(made, made).item() == 120 and k.softmax(made).shape == (5,)
        """)
    )
    assert out.endswith("done\n")


def test_launches_that_no_device_takes(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        source = 'extern "C" __global__ void twice(float* x, int n) { if (threadIdx.x < n) x[0] *= 2; }'
        kernel = k.compile(source, "twice")
        x = k.full(4, 1.0)
        most = ((1, 1025), (1, (1, 1, 65)), ((1, 65536), 1), (2**31, 1), (2**70, 1), (1.5, 1), (None, 1))
        for grid, block in most:
            raises(k.ArgumentError, "", lambda: kernel(grid, block, [x, 4]))
        for shared in (-1, 2**33, 1.5):  # 2**33 has 32 bits of nothing
            raises(k.ArgumentError, "shared", lambda: kernel(1, 1, [x, 4], shared=shared))
        for args in (None, 5, "ab"):
            raises(k.ArgumentError, "args", lambda: kernel(1, 1, args))
        raises(k.ArgumentError, "Stream", lambda: kernel(1, 1, [x, 4], stream=3))
        raises(TypeError, "Stream", lambda: k.Event("cuda:0"))
        raises(TypeError, "Event", lambda: k.Event().since(3))
        raises(TypeError, "Event", lambda: k.Stream().wait(3))
        raises(TypeError, "process", lambda: pickle.dumps(k.Stream()))
        assert x.tolist() == [1, 1, 1, 1]
        """)
    )
    assert out.endswith("done\n")


def test_a_compiled_kernel_travels_as_its_source(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        import eagleray as ray
        SOURCE = 'extern "C" __global__ void twice(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }'
        TWICE = k.compile(SOURCE, "twice")

        @ray.remote(num_gpus=1)
        def task():
            x = k.full(4, 3.0)
            TWICE(1, 4, [x, 4])
            return x.tolist()

        @ray.remote
        def without():
            try:
                TWICE(1, 4, [k.full(4, 3.0), 4])
            except k.UnsupportedError as problem:
                return str(problem)

        with ray.init(address="local", num_cpus=1, num_gpus=1, log_to_driver=False):
            assert ray.get(task.remote()) == [6, 6, 6, 6]
            assert "twice" in ray.get(without.remote())
        TWICE.close()
        raises(k.ClosedError, "closed", lambda: pickle.dumps(TWICE))
        """)
    )
    assert out.endswith("done\n")


def test_a_stream_waits_for_another_devices_event(on_fake: Callable[..., str]) -> None:
    out = on_fake(
        program("""
        there, here = k.Stream("cuda:1"), k.Stream("cuda:0")
        here.wait(there.record())
        raises(k.DeviceError, "cuda:1", lambda: k.Event().since(there.record()))
        """),
        EAGLERAY_FAKE_CUDA_DEVICES="2",
    )
    assert out.endswith("done\n")
