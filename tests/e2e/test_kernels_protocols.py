"""Arrays of eagleray.kernels and other libraries' views of the same memory."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from eagleray import kernels

DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8")


def strided(dtype: str) -> kernels.Array:
    return kernels.array(np.arange(60).reshape(3, 4, 5).astype(dtype), device="cpu")[::2, ::-1, 1:4].T


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_sees_the_same_memory(dtype: str) -> None:
    a = strided(dtype)
    expected = np.arange(60).reshape(3, 4, 5).astype(dtype)[::2, ::-1, 1:4].T
    by_buffer = np.asarray(a)
    about = memoryview(a)
    assert (about.shape, about.strides, about.readonly) == (expected.shape, a.strides, False)
    assert by_buffer.dtype == dtype and by_buffer.strides == a.strides

    class Interface:  # only the dictionary
        __array_interface__ = a.__array_interface__
        keep = a

    for view in (by_buffer, np.array(Interface(), copy=False), np.from_dlpack(a)):
        np.testing.assert_array_equal(view, expected)
        assert view.__array_interface__["data"][0] == a.__array_interface__["data"][0]
    a[0, 0, 0] = 99
    assert by_buffer[0, 0, 0] == 99
    by_buffer[0, 0, 0] = 77
    assert a[0, 0, 0].item() == 77


def test_numpys_copy_rules() -> None:
    a = kernels.full(3, 1, "float32", "cpu")
    assert np.shares_memory(np.asarray(a), np.array(a, copy=False))
    assert not np.shares_memory(np.asarray(a), np.array(a))
    assert not np.shares_memory(np.asarray(a), a.numpy())
    assert np.asarray(a, "f8").dtype == "f8"
    with pytest.raises(ValueError, match="copy"):
        np.array(a, "f8", copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        a.__array__("f8", copy=False)
    assert a.__array__().base is not None and a.__array__(copy=True).flags.owndata


def test_readonly_travels() -> None:
    x = np.arange(4, dtype="f4")
    x.flags.writeable = False
    a = kernels.asarray(x)
    assert a.readonly and memoryview(a).readonly and a.__array_interface__["data"][1]
    assert not np.asarray(a).flags.writeable and not np.from_dlpack(a).flags.writeable
    assert kernels.from_dlpack(a).readonly and kernels.from_dlpack(x).readonly and a[1:].readonly
    with pytest.raises(BufferError, match=r"before DLPack 1\.0"):
        a.__dlpack__()
    assert not a.copy().readonly


def test_bfloat16_has_no_counterpart() -> None:
    a = kernels.array([1.5, 2.5], "bfloat16", "cpu")
    for use in (np.asarray, memoryview, np.array, kernels.Array.numpy):
        with pytest.raises(TypeError, match=r"astype\('float32'\)"):
            use(a)
    assert not hasattr(a, "__array_interface__")
    assert kernels.from_dlpack(a).dtype == "bfloat16"
    assert (a + a).astype("float32").tolist() == [3, 5]


@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_dlpack_both_ways(dtype: str) -> None:
    a = strided("float32").astype(dtype)[:, ::-1]
    assert a.__dlpack_device__() == (1, 0)
    for arguments in (
        {},
        {"max_version": (1, 0)},
        {"max_version": (2, 5)},
        {"max_version": (0, 8)},
        {"dl_device": (1, 0)},
    ):
        b = kernels.from_dlpack(a.__dlpack__(**arguments))
        assert (b.dtype, b.shape, b.strides, b.readonly) == (a.dtype, a.shape, a.strides, False)
        assert b._pointer() == a._pointer()
        copied = kernels.from_dlpack(a.__dlpack__(copy=True, **arguments))
        assert copied._pointer() != a._pointer() and copied.tolist() == a.tolist()
    capsule = a.__dlpack__()
    kernels.from_dlpack(capsule)
    with pytest.raises(BufferError, match="not consumed before"):
        kernels.from_dlpack(capsule)
    with pytest.raises(BufferError, match="stream must be None"):
        a.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="cannot be exported"):
        a.__dlpack__(dl_device=(7, 0))
    with pytest.raises(BufferError, match="cannot be exported"):
        a.__dlpack__(dl_device=(2, 0), copy=False)


def test_from_numpys_dlpack() -> None:
    x = np.arange(12, dtype="i8").reshape(3, 4).T
    a = kernels.from_dlpack(x)
    a[0, 0] = 5
    assert x[0, 0] == 5 and a.strides == x.strides
    assert kernels.from_dlpack(x, copy=True)._pointer() != a._pointer()
    with pytest.raises(kernels.DTypeError, match="128 bits"):
        kernels.from_dlpack(np.zeros(2, "c16"))
    with pytest.raises(kernels.DeviceError):
        kernels.from_dlpack(x, device="cuda:0")


def test_an_old_producer() -> None:
    class Old:
        """From before DLPack 1.0: it knows no max_version."""

        def __init__(self) -> None:
            self.x = np.arange(3, dtype="f4")

        def __dlpack__(self, stream: Any = None) -> Any:
            return self.x.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    old = Old()
    a = kernels.asarray(old)
    old.x[0] = 8
    assert a.tolist() == [8, 1, 2]
    assert kernels.mul_two(old).tolist() == [16, 2, 4]


def test_the_producer_lives_as_long_as_a_view() -> None:
    x = np.arange(1000, dtype="f4")
    gone = weakref.ref(x)
    for adopt in (kernels.asarray, kernels.from_dlpack):
        a = adopt(x)
        view = a[10:20]
        del a
        gc.collect()
        assert gone() is not None
        assert view.tolist()[0] == 10
        buffer = memoryview(view)
        view.free()
        assert buffer[0] == 10  # the buffer keeps it
        buffer.release()
        assert sys.getrefcount(x) == 2
    del x
    assert gone() is None


def test_exports_outlive_free() -> None:
    a = kernels.full(1 << 16, 3, "int32", "cpu")
    by_buffer, by_dlpack = np.asarray(a), np.from_dlpack(a)

    class Interface:
        __array_interface__ = a.__array_interface__

    bare = np.asarray(Interface())
    a.free()
    kernels.full(1 << 16, 4, "int32", "cpu")
    for view in (by_buffer, by_dlpack, bare):
        assert int(view.sum()) == 3 << 16
    assert a.closed


def test_capsules_that_nobody_takes() -> None:
    a = kernels.zeros(10, device="cpu")
    for version in (None, (1, 0)):
        a.__dlpack__(max_version=version)
    gc.collect()
    assert a.tolist() == [0] * 10


def test_only_the_hosts_interfaces_on_the_host() -> None:
    a = kernels.zeros(3, device="cpu")
    assert not hasattr(a, "__cuda_array_interface__")
    assert a.__array_interface__ == {
        "shape": (3,),
        "typestr": "<f4",
        "data": (a._pointer(), False),
        "strides": None,
        "version": 3,
    }
    assert kernels.zeros(0, device="cpu").__array_interface__["shape"] == (0,)
    np.testing.assert_array_equal(np.asarray(kernels.zeros((0, 2), device="cpu")), np.zeros((0, 2)))


def test_numpy_leaves_mixed_expressions_to_arrays() -> None:
    x = np.ones(3, "f4")
    a = kernels.asarray(x)
    for mixed in (x + a, a + x, x @ a, np.float32(2) * a, 2 * a):
        assert isinstance(mixed, kernels.Array)


def test_odd_memory_of_numpy() -> None:
    raw = np.zeros(4 * 5 + 1, "u1")
    odd = raw[1:].view("f4")
    odd[:] = [1, 2, 3, 4, 5]
    assert not odd.flags.aligned
    assert kernels.mul_two(odd).tolist() == [2, 4, 6, 8, 10]
    assert kernels.asarray(odd).tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(kernels.ShapeError, match="not aligned"):
        kernels.mul_two(odd, out=odd)
    swapped = np.ones(3, ">f4")
    fields = np.zeros(3, [("a", "f4"), ("b", "i4")])
    for wrong in (swapped, np.zeros(2, "c8"), np.zeros(2, "?"), np.zeros(2, "i2"), np.array(["a"]), fields,
                  np.array([None]), np.zeros(2, "M8[s]")):  # fmt: skip
        with pytest.raises(kernels.DTypeError):
            kernels.mul_two(wrong)
        with pytest.raises(kernels.DTypeError):
            kernels.asarray(wrong)
    for use in (kernels.mul_two, kernels.asarray):
        with pytest.raises(kernels.DTypeError, match="no mask"):
            use(np.ma.masked_array([1.0, 2.0], [True, False]))
    assert kernels.mul_two(fields["a"]).tolist() == [0, 0, 0]
    deep = np.zeros((1,) * 33, "f4")
    with pytest.raises(kernels.ShapeError, match="at most 32"):
        kernels.mul_two(deep)
