"""Arrays of eagleray.kernels through put, get, arguments, results and actors."""

from __future__ import annotations

import os
from typing import Any

import eagleray
import numpy as np
import pytest
from eagleray import kernels
from eagleray.exceptions import RayTaskError


@eagleray.remote
def describe(a: Any) -> tuple[Any, ...]:
    """What a task sees of its argument."""
    return type(a).__name__, a.shape, str(a.dtype), a.device, a.readonly, a.tolist()


@eagleray.remote
def give_back(a: Any) -> Any:
    return a


@eagleray.remote
def double(a: Any) -> Any:
    return kernels.mul_two(a)


@eagleray.remote
def double_in_place(a: Any) -> Any:
    return kernels.mul_two(a, out=a)


@eagleray.remote
class Resident:
    """Data that stays where it is."""

    def __init__(self, size: int) -> None:
        self.data = kernels.full(size, 1, "float32")

    def mul_two(self) -> None:
        kernels.mul_two(self.data, out=self.data)

    def sum(self) -> float:
        return float(kernels.sum(self.data))

    def whole(self) -> Any:
        return self.data

    def where(self) -> tuple[str, str]:
        return self.data.device, kernels.default_device()

    def free(self) -> None:
        self.data.free()


CASES = {
    "packed": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[:, ::2],
    "reversed": lambda a: a[::-1, :, 1],
    "empty": lambda a: a[1:1],
    "one": lambda a: a[0, 0, 0],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64", "uint8"])
def test_arrays_as_arguments_and_results(ray: Any, case: str, dtype: str) -> None:
    a = CASES[case](kernels.array(np.arange(60).reshape(3, 4, 5), dtype, "cpu"))
    seen = ray.get(describe.remote(a))
    assert seen == ("Array", a.shape, dtype, "cpu", True, a.tolist())
    back = ray.get(give_back.remote(a))
    assert (back.shape, back.dtype, back.readonly, back.tolist()) == (a.shape, dtype, True, a.tolist())


def test_the_same_memory_in_the_same_process(ray: Any) -> None:
    a = kernels.full((300, 300), 1, "float32", "cpu")
    ref = ray.put(a)
    b, c = ray.get([ref, ref])
    assert a._pointer() == b._pointer() == c._pointer() and b.readonly and not a.readonly
    del a, b, c
    assert ray.get(ref).sum().item() == 90_000  # from the store
    left, right = ray.get(ref), ray.get(ref)
    assert left._pointer() == right._pointer()


def test_large_arrays_lie_in_the_store(ray: Any) -> None:
    a = ray.get(double.remote(kernels.full(1 << 20, 1, "float32", "cpu")))
    assert a.readonly and a.sum().item() == 2 << 20
    with open("/proc/self/maps") as maps:
        ranges = [line.split() for line in maps]
    where = a._pointer()
    home = next(row for row in ranges if int(row[0].split("-")[0], 16) <= where < int(row[0].split("-")[1], 16))
    assert (len(home) > 5 and "memfd" in home[5]) or "shm" in home[-1], home


def test_numpys_arguments_are_read_only(ray: Any) -> None:
    x = np.arange(100_000, dtype="f4")
    ref = ray.put(x)
    result = ray.get(double.remote(ref))
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, x * 2)
    np.testing.assert_array_equal(kernels.mul_two(ray.get(ref)), x * 2)
    with pytest.raises(kernels.ReadOnlyError, match="read-only") as raised:
        ray.get(double_in_place.remote(ref))
    assert isinstance(raised.value, RayTaskError) and isinstance(raised.value, kernels.KernelError)
    with pytest.raises(kernels.ReadOnlyError):
        ray.get(double_in_place.remote(kernels.asarray(x)))


def test_an_actor_keeps_its_data(ray: Any) -> None:
    actor = Resident.remote(1000)
    for _ in range(10):
        actor.mul_two.remote()
    assert ray.get(actor.sum.remote()) == 1024_000
    assert ray.get(actor.where.remote()) == ("cpu", "cpu")
    whole = ray.get(actor.whole.remote())
    assert whole.tolist() == [1024.0] * 1000
    ray.get(actor.free.remote())
    with pytest.raises(kernels.ClosedError, match="freed"):
        ray.get(actor.sum.remote())
    with pytest.raises(kernels.ClosedError, match="freed"):
        ray.get(actor.whole.remote())
    assert whole.tolist() == [1024.0] * 1000


def test_arrays_inside_values(ray: Any) -> None:
    a = kernels.array(np.arange(6), "int32", "cpu")
    nested = ray.get(give_back.remote({"a": [a, (a.reshape(2, 3), 1)], "chain": kernels.fuse().scale(2)}))
    assert nested["a"][0].tolist() == [0, 1, 2, 3, 4, 5]
    assert nested["chain"](nested["a"][1][0]).tolist() == [[0, 2, 4], [6, 8, 10]]

    @eagleray.remote
    def captured() -> Any:
        return kernels.add(a, a).tolist(), os.getpid()

    values, pid = ray.get(captured.remote())
    assert values == [0, 2, 4, 6, 8, 10] and pid != os.getpid()


def test_a_freed_array_cannot_be_passed(ray: Any) -> None:
    a = kernels.zeros(3, device="cpu")
    a.free()
    with pytest.raises(kernels.ClosedError, match="freed"):
        ray.put(a)
    with pytest.raises(kernels.ClosedError, match="freed"):
        describe.remote(a)


class DeviceArray:
    """What numba, cupy and torch have in common."""

    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (0x7000, False), "version": 3}  # noqa: RUF012


class HostTensor:
    """As torch's on the host: it has the attribute, and refuses it."""

    is_cuda = False

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("on the host")


@eagleray.remote
def make_device_array(how: str) -> Any:
    array = DeviceArray()
    return {"alone": array, "list": [1, array], "dict": {"x": (array,)}, "closure": lambda: array}[how]


@pytest.mark.parametrize("how", ["alone", "list", "dict", "closure"])
def test_device_arrays_of_others_are_refused(ray: Any, how: str) -> None:
    with pytest.raises(kernels.DeviceArrayError, match="copy it to the host") as raised:
        ray.get(make_device_array.remote(how))
    assert isinstance(raised.value, TypeError)
    array = DeviceArray()
    value = {"alone": array, "list": [1, array], "dict": {"x": (array,)}, "closure": lambda: array}[how]
    for use in (ray.put, describe.remote, give_back.remote):
        with pytest.raises(kernels.DeviceArrayError, match="cannot be put, passed or returned"):
            use(value)


def test_host_tensors_pass(ray: Any) -> None:
    assert isinstance(ray.get(give_back.remote([HostTensor()]))[0], HostTensor)


def test_numba_functions(ray: Any) -> None:
    numba = pytest.importorskip("numba")

    @numba.njit  # type: ignore[untyped-decorator]
    def triple(x: Any) -> Any:
        return x * 3

    with pytest.raises(TypeError, match="Wrap it in a plain function"):
        eagleray.remote(triple)
    with pytest.raises(TypeError, match="Wrap it in a plain function"):
        eagleray.remote(num_gpus=1)(triple)

    @eagleray.remote
    def wrapped(x: Any) -> Any:
        return triple(x)

    assert ray.get(wrapped.remote(np.arange(3))).tolist() == [0, 3, 6]


def test_numbas_simulator(script: Any) -> None:
    pytest.importorskip("numba")
    done = script(
        """
        import os
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
        import numpy as np, eagleray as ray
        from eagleray import kernels
        from numba import cuda

        @cuda.jit
        def mul_two(data):
            i = cuda.grid(1)
            if i < data.size:
                data[i] *= 2

        for wrong in (mul_two,):
            try:
                ray.remote(wrong)
            except TypeError as problem:
                assert "Wrap it in a plain function" in str(problem)
            else:
                raise AssertionError("cuda.jit was taken")

        @ray.remote
        def run(data):
            on_device = cuda.to_device(data)
            mul_two[1, 32](on_device)
            return on_device.copy_to_host()

        @ray.remote
        def leak(data):
            return cuda.to_device(data)

        ray.init(num_cpus=2, address="local")
        assert ray.get(run.remote(np.arange(4))).tolist() == [0, 2, 4, 6]
        try:
            ray.get(leak.remote(np.arange(4)))
        except kernels.DeviceArrayError as problem:
            assert "copy_to_host" in str(problem)
        else:
            raise AssertionError("a device array came back")
        print("done")
        """,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert "done" in done.stdout


def test_nothing_is_loaded_before_it_is_used(script: Any) -> None:
    done = script(
        """
        import sys
        import eagleray as ray
        from eagleray import kernels
        dir(kernels)
        kernels.fuse().scale(2), kernels.mul_two, kernels.DType("float32"), kernels.ShapeError
        print("eagleray._kern" in sys.modules, "numpy" in sys.modules, "eagleray._core" in sys.modules)

        @ray.remote
        def worker():
            import sys
            with open("/proc/self/maps") as maps:
                return [name for name in sys.modules if "kernels" in name or "_kern" in name], "libcuda" in maps.read()

        ray.init(num_cpus=1, address="local")
        print(*ray.get(worker.remote()))
        """
    )
    assert done.stdout.splitlines() == ["False False False", "[] False"]


def test_a_tensor_that_only_dlpack_places_on_a_device_is_refused(ray: Any) -> None:
    class Tensor:
        def __init__(self, kind: int) -> None:
            self.kind = kind

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.kind, 0

    @ray.remote
    def makes(kind: int) -> Any:
        return {"nested": [Tensor(kind)]}

    with pytest.raises(kernels.DeviceArrayError, match="device array"):
        ray.get(makes.remote(2))
    assert ray.get(makes.remote(1))["nested"][0].kind == 1


def test_an_array_of_another_node_is_read_from_its_copy(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle of another node's device might fit a device here by chance, and is never tried."""
    from eagleray._private.state import process
    from eagleray.kernels import _devices, _native, _transfer

    native, tried = _native.load(), []

    class Maps:
        """The native part of a process that has a device."""

        def __getattr__(self, name: str) -> Any:
            return getattr(native, name)

        def import_(self, handle: bytes, *more: Any) -> Any:
            tried.append(handle)
            return handle

    _, (name, *rest, _) = _transfer.reduce(kernels.full(5, 7, "float32"), 4)
    monkeypatch.setattr(_devices, "cuda_count", lambda: 1)
    monkeypatch.setattr(_native, "load", Maps)
    elsewhere = (0, b"another process", name[2])
    shared = (None, b"handle", 20, 0, (1,))
    here = process.require().node_id
    assert _transfer.rebuild(elsewhere, *rest, (*shared, here)) == b"handle" and tried == [b"handle"]
    copied = _transfer.rebuild(elsewhere, *rest, (*shared, b"n" * len(here)))
    assert copied.tolist() == [7] * 5 and tried == [b"handle"]
