"""What goes wrong in eagleray.kernels is a typed error, never a crash."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from eagleray import kernels

F4, F8, I4 = np.ones(4, "f4"), np.ones(4, "f8"), np.ones(4, "i4")


def array(shape: Any = 4, dtype: str = "float32") -> kernels.Array:
    return kernels.full(shape, 1, dtype, "cpu")


WRONG: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (kernels.DTypeError, "float32 and float64", lambda: kernels.add(F4, F8)),
    (kernels.DTypeError, "cast", lambda: kernels.exp(I4)),
    (kernels.DTypeError, "cast", lambda: kernels.div(I4, 2)),
    (kernels.DTypeError, "cast", lambda: kernels.softmax(I4)),
    (kernels.DTypeError, "cast", lambda: kernels.matmul(I4.reshape(2, 2), I4.reshape(2, 2))),
    (kernels.DTypeError, "floating point", lambda: kernels.add(I4, 1.5)),
    (kernels.DTypeError, "float64", lambda: kernels.mul_two(F4, out=F8.copy())),
    (kernels.DTypeError, "float64", lambda: kernels.sum(F4, out=np.zeros((), "f8"))),
    (kernels.DTypeError, "float64", lambda: kernels.copy(F4, out=F8.copy())),
    (kernels.DTypeError, "not float32", lambda: kernels.cast(F4, "float32", out=F8.copy())),
    (kernels.DTypeError, "complex64", lambda: kernels.cast(F4, "complex64")),
    (kernels.DTypeError, "only numbers", lambda: kernels.add(1, 2)),  # type: ignore[call-overload]
    (kernels.DTypeError, "does not go into", lambda: array().__setitem__(0, F8)),
    (kernels.ScalarError, "300", lambda: kernels.add(np.ones(2, "u1"), 300)),
    (kernels.ScalarError, "-1", lambda: kernels.scale(np.ones(2, "u1"), -1)),
    (kernels.ScalarError, "int32", lambda: kernels.add(I4, 2**31)),
    (kernels.ScalarError, "int32", lambda: kernels.full(2, 2**40, "int32", "cpu")),
    (kernels.ShapeError, "broadcast", lambda: kernels.add(np.ones(3, "f4"), np.ones(4, "f4"))),
    (kernels.ShapeError, "shape", lambda: kernels.mul_two(F4, out=np.ones(3, "f4"))),
    (kernels.ShapeError, "shape", lambda: kernels.sum(F4, out=np.ones(3, "f4"))),
    (kernels.ShapeError, "shape", lambda: kernels.copy(F4, out=np.ones(3, "f4"))),
    (kernels.ShapeError, "axis 1", lambda: kernels.sum(F4, 1)),
    (kernels.ShapeError, "axis", lambda: kernels.softmax(F4, 2)),
    (kernels.ShapeError, "no elements", lambda: kernels.max(np.ones(0, "f4"))),
    (kernels.ShapeError, "dot", lambda: kernels.dot(F4, np.ones(3, "f4"))),
    (kernels.ShapeError, "matmul", lambda: kernels.matmul(np.ones((2, 3), "f4"), np.ones((2, 3), "f4"))),
    (kernels.ShapeError, "matmul", lambda: kernels.matmul(np.ones((2, 3, 4), "f4"), np.ones((4, 3), "f4"))),
    (kernels.ShapeError, "negative", lambda: kernels.zeros((2, -1))),
    (kernels.ShapeError, "at most 32", lambda: kernels.zeros((1,) * 33)),
    (kernels.ShapeError, "bytes", lambda: kernels.zeros((2**40, 2**40))),
    (kernels.ShapeError, "reshaped", lambda: array().reshape(3)),
    (kernels.ShapeError, "reshaped", lambda: array().reshape(-1, -1)),
    (kernels.ShapeError, "axes", lambda: array().transpose(0, 0)),
    (kernels.ShapeError, "broadcast", lambda: array().broadcast_to((3,))),
    (kernels.ShapeError, "one element", lambda: array().item()),
    (
        kernels.ShapeError,
        "more than once",
        lambda: kernels.mul_two(F4, out=np.lib.stride_tricks.as_strided(F4, (4,), (0,))),
    ),
    (kernels.DeviceError, "'tpu' is not known", lambda: kernels.zeros(3, device="tpu")),
    (kernels.DeviceError, "cuda", lambda: kernels.zeros(3, device="cuda:0")),
    (kernels.DeviceError, "cuda", lambda: array().to("cuda")),
    (kernels.DeviceError, "cuda", lambda: kernels.synchronize("cuda:7")),
    (kernels.UnsupportedError, "cpu", lambda: kernels.compile('extern "C" __global__ void f() {}', "f", device="cpu")),
    (
        kernels.ReadOnlyError,
        "read-only",
        lambda: kernels.mul_two(array().broadcast_to((2, 4)), out=array().broadcast_to((2, 4))),
    ),
    (TypeError, "out must be", lambda: kernels.mul_two(F4, out=[1, 2])),
    (TypeError, "Array or ndarray is needed, not list", lambda: kernels.mul_two([1.0, 2.0])),  # type: ignore[type-var]
    (TypeError, "Array or ndarray is needed, not NoneType", lambda: kernels.sum(None)),  # type: ignore[call-overload]
    (TypeError, "is made by", lambda: kernels.Array()),
    (TypeError, "takes a number", lambda: kernels.fuse().add(F4)),  # type: ignore[arg-type]
    (TypeError, "unsupported operand", lambda: array() + "text"),  # type: ignore[operator]
    (TypeError, "no length", lambda: len(array(()))),
]


@pytest.mark.parametrize("kind, words, use", WRONG, ids=lambda value: value if isinstance(value, str) else None)
def test_wrong_use(kind: type[Exception], words: str, use: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=words) as raised:
        use()
    if kind is kernels.ScalarError:
        assert isinstance(raised.value, OverflowError)
    if kind.__module__.startswith("eagleray"):
        assert isinstance(raised.value, kernels.KernelError)


def test_read_only_memory() -> None:
    x = np.arange(4, dtype="f4")
    x.flags.writeable = False
    assert kernels.mul_two(x).tolist() == [0, 2, 4, 6]
    a = kernels.asarray(x)
    assert kernels.mul_two(a).tolist() == [0, 2, 4, 6]
    for target in (x, a, a[1:].reshape(3)):
        with pytest.raises(kernels.ReadOnlyError, match="read-only") as raised:
            kernels.mul_two(target, out=target)
        assert isinstance(raised.value, ValueError)
    with pytest.raises(kernels.ReadOnlyError):
        a += 1
    with pytest.raises(kernels.ReadOnlyError):
        kernels.asarray(x)[0] = 1
    assert x.tolist() == [0, 1, 2, 3]


def test_use_after_free() -> None:
    a, b = array((2, 2)), array((2, 2))
    view = a[0]
    a.free()
    a.free()
    assert a.closed and view.tolist() == [1, 1] and repr(a).endswith("freed)")
    assert (a.shape, a.dtype) == ((2, 2), "float32")
    for use in [
        lambda: kernels.mul_two(a), lambda: kernels.mul_two(b, out=a), lambda: kernels.add(b, a), lambda: a + b,
        lambda: kernels.sum(a), lambda: kernels.matmul(b, a), lambda: a.numpy(), lambda: np.asarray(a),
        lambda: memoryview(a), lambda: a.__array_interface__, lambda: a.__dlpack__(), lambda: a[0], lambda: a.T,
        lambda: a.reshape(4), lambda: a.copy(), lambda: a.to("cpu"), lambda: a.item(), lambda: pickle.dumps(a),
        lambda: copy.copy(a), lambda: kernels.copy(b, out=a), lambda: kernels.fuse().scale(2)(a),
        lambda: a.astype("int32"),
    ]:  # fmt: skip
        with pytest.raises(kernels.ClosedError, match="freed") as raised:
            use()
        assert isinstance(raised.value, ValueError)
    with kernels.zeros(3, device="cpu") as inside:
        pass
    assert inside.closed


def test_freed_while_others_use_it() -> None:
    for _ in range(20):
        big = kernels.full(1 << 16, 1, "float32", "cpu")
        start = threading.Barrier(4)
        wrong: list[BaseException] = []

        def work(big: kernels.Array = big, start: threading.Barrier = start, wrong: Any = wrong) -> None:
            start.wait()
            try:
                for _ in range(200):
                    kernels.mul_two(big, out=big)
                    kernels.add(big[5:], big[:-5]).free()
                    memoryview(big).release()
            except kernels.ClosedError:
                pass
            except BaseException as problem:
                wrong.append(problem)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        start.wait()
        big.free()
        for thread in threads:
            thread.join()
        assert not wrong


def test_threads_share_arrays() -> None:
    a = kernels.zeros(100_000, "int64", "cpu")
    steps = [np.full(100_000, step, "i8") for step in range(8)]
    results: list[int] = []

    def work(step: int) -> None:
        total = kernels.asarray(steps[step])
        for _ in range(20):
            total = total + steps[step]
        results.append(int(kernels.sum(total + a).item()))

    threads = [threading.Thread(target=work, args=(step,)) for step in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [21 * step * 100_000 for step in range(8)]


def test_memory_comes_back() -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def use() -> None:
        a = kernels.full(1 << 20, 1, "float32", "cpu")  # 4 MiB
        (a + a)[10:].reshape(-1)

    for _ in range(5):
        use()
    gc.collect()
    before = resident()
    for _ in range(200):
        use()
    assert resident() - before < 64 << 20


def test_out_of_memory_is_typed() -> None:
    with pytest.raises(kernels.OutOfMemoryError, match="bytes") as raised:
        kernels.empty(1 << 60, "uint8", "cpu")
    assert isinstance(raised.value, MemoryError) and raised.value.asked == 1 << 60
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.asked, again.total) == (str(raised.value), 1 << 60, raised.value.total)


def test_streams_and_events_on_the_host() -> None:
    a = array()
    with kernels.Stream("cpu") as stream:
        assert kernels.current_stream() is stream
        b = kernels.mul_two(a)
        kernels.mul_two(a, out=a)
        first = kernels.Event()
    assert kernels.current_stream() is None
    later = stream.record()
    stream.wait(first)
    later.synchronize()
    stream.synchronize()
    kernels.synchronize("cpu")
    assert later.done and later.since(first) >= 0 and stream.device == "cpu" and stream.native == 0
    assert a.tolist() == b.tolist() == [2] * 4
    stream.close()
    stream.close()
    for use in (stream.synchronize, stream.record, stream.__enter__):
        with pytest.raises(kernels.ClosedError, match="closed"):
            use()
    later.close()
    with pytest.raises(kernels.ClosedError):
        later.synchronize()
    info = kernels.device_info("cpu")
    assert info.device == "cpu" and info.total_memory > 0 and info.capability == (0, 0)


def test_pickled_by_hand() -> None:
    for dtype in ("float32", "bfloat16", "uint8"):
        a = kernels.array(np.arange(24).reshape(2, 3, 4), dtype, "cpu")
        for x in (a, a.T, a[:, ::2], a[:, 1:1], a[1, 2, 3]):
            for protocol in range(2, 6):
                data = pickle.dumps(x, protocol)
                here = pickle.loads(data)
                assert here.readonly and here.tolist() == x.tolist()
                assert here.size == 0 or here._pointer() == x._pointer()
    assert copy.deepcopy(a)._pointer() != a._pointer()


def test_forks_and_exits(script: Any) -> None:
    """A child that user code forks is told so; what lives at the end does no harm."""
    done = script(
        """
        import gc, os, threading
        import numpy as np
        from eagleray import kernels as k

        a, n = k.full(100_000, 1, device="cpu"), k.asarray(np.ones(10, "f4"))
        pid = os.fork()
        if pid == 0:
            try:
                k.mul_two(a)
            except RuntimeError as problem:
                told = "forked" in str(problem)
            del a, n
            gc.collect()
            os._exit(0 if told else 1)
        assert os.waitpid(pid, 0)[1] == 0

        class Cycle:
            pass

        cycle = Cycle()
        cycle.everything = cycle, a, memoryview(a), a.__dlpack__(), np.asarray(n)
        started = threading.Event()

        def spin():
            while True:
                k.mul_two(a, out=a)
                started.set()

        threading.Thread(target=spin, daemon=True).start()
        started.wait()
        print("end")
        """
    )
    assert done.stdout == "end\n" and done.stderr == ""


def test_what_is_no_array_is_a_typed_error() -> None:
    from eagleray import kernels as k

    x = np.arange(3, dtype=np.float32)
    for bad in ([1, 2, 3], None, "abc", {}, 1 + 2j):
        with pytest.raises(k.DTypeError):
            k.mul_two(bad)
        with pytest.raises(k.DTypeError):
            k.add(x, bad)
        with pytest.raises(k.DTypeError):
            k.dot(x, bad)
    with pytest.raises(k.DTypeError):
        k.mul_two(x, out=[1, 2, 3])
    with pytest.raises(k.DTypeError):
        k.add(x, np.void(b"abc"))
    with pytest.raises(k.ScalarError):
        k.scale(x, 10**400)
    for shape in ((2**63,), (2**62, 2**62)):
        with pytest.raises(k.ShapeError):
            k.empty(shape, device="cpu")
    with pytest.raises(k.DeviceError):
        k.empty(1, device="cuda:99999999999999999999")
    assert k.array(x, device="cpu")[:: 2**62].tolist() == [0.0]
