"""eagleray.kernels on the host, against numpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from eagleray import kernels

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int32", "int64", "uint8")
SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (7,), (64,), (3, 5), (2, 0, 3), (4, 1, 6), (2, 3, 4, 5))
SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0)


def values(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Random elements, with NaN and infinities among floating point."""
    random = np.random.default_rng(seed)
    if dtype in FLOATS:
        made = (random.standard_normal(shape) * 3).astype(dtype)
        flat = made.reshape(-1) if made.ndim else made.reshape(1)
        for at, special in zip(range(0, flat.size, 5), itertools.cycle(SPECIAL), strict=False):
            flat[at] = special
        return flat.reshape(shape)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


def laid_out(array: np.ndarray[Any, Any], how: str) -> np.ndarray[Any, Any]:
    """The same elements, otherwise in memory."""
    if how == "reversed":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1] if array.ndim else array
    if how == "transposed":
        return np.asfortranarray(array)
    if how == "every second":
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype) if array.ndim else array
        if array.ndim:
            wide[..., ::2] = array
            return wide[..., ::2]
    return array


LAYOUTS = ("packed", "reversed", "transposed", "every second")


def same(ours: Any, theirs: Any, dtype: str, steps: int = 1, size: float = 1) -> None:
    """Equal, or for floating point a few units in the last place of elements of that size apart."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype == dtype
    if dtype in INTEGERS:
        np.testing.assert_array_equal(ours, theirs)
    else:
        tolerance = steps * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(ours.astype("f8"), theirs.astype("f8"), rtol=tolerance, atol=tolerance * size)


UNARY: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[str, ...]]] = {
    "mul_two": (kernels.mul_two, lambda x: x * x.dtype.type(2), FLOATS + INTEGERS),
    "scale": (lambda x, **k: kernels.scale(x, 3, **k), lambda x: x * x.dtype.type(3), FLOATS + INTEGERS),
    "clip": (lambda x, **k: kernels.clip(x, 1, 100, **k), lambda x: np.clip(x, 1, 100), FLOATS + INTEGERS),
    "copy": (kernels.copy, np.copy, FLOATS + INTEGERS),
    "exp": (kernels.exp, np.exp, FLOATS),
    "relu": (kernels.relu, lambda x: np.maximum(x, x.dtype.type(0)), FLOATS + INTEGERS),
    "add 5": (lambda x, **k: kernels.add(x, 5, **k), lambda x: x + x.dtype.type(5), FLOATS + INTEGERS),
    "sub 5": (lambda x, **k: kernels.sub(x, 5, **k), lambda x: x - x.dtype.type(5), FLOATS + INTEGERS),
    "9 - x": (lambda x, **k: kernels.sub(9, x, **k), lambda x: x.dtype.type(9) - x, FLOATS + INTEGERS),
    "div 3": (lambda x, **k: kernels.div(x, 3, **k), lambda x: x / x.dtype.type(3), FLOATS),
    "1 / x": (lambda x, **k: kernels.div(1, x, **k), lambda x: x.dtype.type(1) / x, FLOATS),
}


@pytest.mark.parametrize("name", UNARY)
@np.errstate(all="ignore")
def test_one_array(name: str) -> None:
    ours, theirs, dtypes = UNARY[name]
    for dtype, (seed, shape), layout in itertools.product(dtypes, enumerate(SHAPES), LAYOUTS):
        x = laid_out(values(dtype, shape, seed), layout)
        expected = theirs(x)
        before = x.copy()
        array = kernels.asarray(x)
        assert array.device == "cpu" and array.dtype == dtype
        same(ours(array), expected, dtype, 4)  # a new array
        same(ours(x), expected, dtype, 4)  # numpy's own
        np.testing.assert_array_equal(x, before)
        out = laid_out(np.zeros_like(before), layout)
        assert ours(array, out=out) is out
        same(out, expected, dtype, 4)
        inside = kernels.array(x, device="cpu")
        assert ours(inside, out=inside) is inside
        same(inside, expected, dtype, 4)


BINARY = {
    "add": (kernels.add, np.add, FLOATS + INTEGERS),
    "sub": (kernels.sub, np.subtract, FLOATS + INTEGERS),
    "mul": (kernels.mul, np.multiply, FLOATS + INTEGERS),
    "div": (kernels.div, np.divide, FLOATS),
    "axpy": (lambda x, y, **k: kernels.axpy(2, x, y, **k), lambda x, y: x.dtype.type(2) * x + y, FLOATS + INTEGERS),
}
PAIRS = [
    ((7,), (7,)),
    ((3, 5), (5,)),
    ((3, 1), (1, 4)),
    ((), (3,)),
    ((0,), (1,)),
    ((2, 3, 4), (3, 1)),
    ((300,), (300,)),
]


@pytest.mark.parametrize("name", BINARY)
@np.errstate(all="ignore")
def test_two_arrays(name: str) -> None:
    ours, theirs, dtypes = BINARY[name]
    for dtype, (seed, (left, right)), layout in itertools.product(dtypes, enumerate(PAIRS), LAYOUTS):
        x, y = laid_out(values(dtype, left, seed), layout), values(dtype, right, seed + 50)
        # numpy rounds a product of 16 bits once more than a chain does.
        expected = theirs(x.astype("f4"), y.astype("f4")).astype(dtype) if dtype == "float16" else theirs(x, y)
        same(ours(x, y), expected, dtype, 4)
        same(ours(kernels.asarray(x), kernels.asarray(y)), expected, dtype, 4)
        same(ours(kernels.asarray(x), y), expected, dtype, 4)
        out = np.empty(expected.shape, dtype)
        assert ours(x, y, out=out) is out
        same(out, expected, dtype, 4)


@np.errstate(all="ignore")
def test_operators() -> None:
    x, y = values("float32", (4, 3), 1), values("float32", (3,), 2)
    a, b = kernels.asarray(x), kernels.asarray(y)
    for ours, theirs in [
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (a @ b, x @ y), (-a, -x), (2 + a, 2 + x),
        (2 - a, 2 - x), (2 * a, 2 * x), (2 / a, 2 / x), (a - 1.5, x - np.float32(1.5)), (x + b, x + y), (x @ b, x @ y),
    ]:  # fmt: skip
        assert isinstance(ours, kernels.Array)
        same(ours, theirs, "float32", 8)
    c = kernels.array(x, device="cpu")
    z = c
    z += b
    z -= 1
    z *= b
    z /= 2
    assert z is c
    same(c, (x + y - np.float32(1)) * y / np.float32(2), "float32", 4)
    assert a.__add__("text") is NotImplemented


REDUCTIONS = {
    "sum": (kernels.sum, np.sum, FLOATS + INTEGERS),
    "mean": (kernels.mean, np.mean, FLOATS + INTEGERS),
    "min": (kernels.min, np.min, FLOATS + INTEGERS),
    "max": (kernels.max, np.max, FLOATS + INTEGERS),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("special", [False, True])
@np.errstate(all="ignore")
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_reductions(name: str, special: bool) -> None:
    ours, theirs, dtypes = REDUCTIONS[name]
    for dtype, (seed, shape), layout in itertools.product(dtypes, enumerate((*SHAPES, (1000,))), LAYOUTS):
        x = laid_out(values(dtype, shape, seed), layout)
        if not special and dtype in FLOATS:
            x = np.nan_to_num(x, nan=1, posinf=2, neginf=-2)
        for axis in (None, *range(-x.ndim, x.ndim)):
            result = {"sum": "int64", "mean": "float64"}.get(name, dtype) if dtype in INTEGERS else dtype
            wide = {"sum": "i8", "mean": "f8"}.get(name) if dtype in INTEGERS else None
            try:
                expected = theirs(x.astype("f8") if dtype in FLOATS else x.astype(wide or dtype), axis=axis)
            except ValueError:  # nothing to take the least of
                with pytest.raises(kernels.ShapeError, match=name):
                    ours(x, axis)
                continue
            expected = np.asarray(expected).astype(result)
            size = float(np.abs(x.astype("f8"), where=np.isfinite(x), out=np.ones(x.shape)).max(initial=1))
            same(ours(kernels.asarray(x), axis), expected, result, 8, size)
            numpys = ours(x, axis)
            assert isinstance(numpys, np.generic if expected.ndim == 0 else np.ndarray)
            same(numpys, expected, result, 8, size)
            out = kernels.empty(expected.shape, result, "cpu")
            assert ours(x, axis, out=out) is out
            same(out, expected, result, 8, size)


@pytest.mark.parametrize("dtype", FLOATS)
def test_products(dtype: str) -> None:
    random = np.random.default_rng(5)
    for m, k, n in [(1, 1, 1), (3, 4, 5), (17, 33, 9), (2, 0, 3), (0, 2, 2), (64, 64, 64)]:
        x = random.standard_normal((m, k)).astype(dtype)
        y = np.asfortranarray(random.standard_normal((k, n)).astype(dtype))
        scale = max(k, 1)
        wide = x.astype("f8") @ y.astype("f8")
        same(kernels.matmul(x, y), wide.astype(dtype), dtype, 8 * scale)
        same(
            kernels.matmul(kernels.asarray(x), y[:, 0] if n else y),
            (wide[:, 0] if n else wide).astype(dtype),
            dtype,
            8 * scale,
        )
        same(kernels.matmul(x[0] if m else x, y), (wide[0] if m else wide).astype(dtype), dtype, 8 * scale)
        if m and n:
            same(kernels.dot(x[0], y[:, 0]), (x[0].astype("f8") @ y[:, 0].astype("f8")).astype(dtype), dtype, 8 * scale)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(dtype: str) -> None:
    x = (np.random.default_rng(2).standard_normal((4, 9, 3)) * 5).astype(dtype)
    for axis in range(-3, 3):
        wide = np.exp(x.astype("f8") - x.astype("f8").max(axis, keepdims=True))
        same(kernels.softmax(x, axis), (wide / wide.sum(axis, keepdims=True)).astype(dtype), dtype, 16)


def test_casts() -> None:
    for source, target in itertools.product(FLOATS + INTEGERS, FLOATS + INTEGERS):
        x = np.arange(0, 120).astype(source)
        got = kernels.asarray(x).astype(target)
        assert got.dtype == target
        np.testing.assert_array_equal(got, x.astype(target))
        wide = kernels.asarray(x).astype("bfloat16")
        np.testing.assert_array_equal(wide.astype(target), x.astype(target))  # integers to 256 are exact
    assert kernels.cast(np.array([2.7, -2.7], "f4"), "int32").tolist() == [2, -2]


@np.errstate(all="ignore")
def test_fused_chains() -> None:
    chain = kernels.fuse().scale(2).add(1).clip(0, 10)
    assert chain == kernels.fuse(("scale", 2), ("add", 1), ("clip", 0, 10))
    assert repr(chain) == "fuse().scale(2).add(1).clip(0, 10)"
    x, y = values("float32", (3, 40), 3), values("float32", (40,), 4)
    same(chain(x), np.clip(x * 2 + 1, 0, 10), "float32")
    a = kernels.array(x, device="cpu")
    assert chain(a, out=a) is a
    same(a, np.clip(x * 2 + 1, 0, 10), "float32")
    mixed = kernels.fuse().mul().sub(3).div().rsub(1).relu().axpy(0.5)
    assert mixed.inputs == 4 and len(mixed) == 6
    expected = np.float32(0.5) * np.maximum(1 - (x * y - 3) / 7, 0) + y
    same(mixed(x, y, 7, kernels.asarray(y)), expected, "float32", 8)
    same(kernels.fuse().div(3).exp()(x), np.exp(x / np.float32(3)), "float32", 8)
    big = 2**60 + 1
    assert kernels.fuse().add(big)(np.array([1], "i8")).tolist() == [big + 1]
    with pytest.raises(kernels.ShapeError, match="takes 2 arrays, got 1"):
        kernels.fuse().add()(x)
    with pytest.raises(kernels.ShapeError, match="no steps"):
        kernels.fuse()(x)
    with pytest.raises(ValueError, match="'sqrt' is not a step"):
        kernels.fuse("sqrt")


def test_views_against_numpy() -> None:
    x = np.arange(2 * 3 * 4 * 5, dtype="i4").reshape(2, 3, 4, 5)
    a = kernels.asarray(x)
    for key in [
        0, -1, (1, 2), (1, 2, 3, 4), slice(None), slice(None, None, -1), (slice(0, 2), 1), (..., 2), (0, ..., 1), ...,
        (), (None, 0), (slice(5, 1, -2), ..., None), (slice(3, 1),), (1, slice(None, None, -1), slice(1, 4, 2)),
        (..., None, slice(4, None, -3)), (None, ..., None), np.int64(1),
    ]:  # fmt: skip
        ours, theirs = a[key], x[key]
        np.testing.assert_array_equal(ours, theirs)
        assert ours.shape == theirs.shape
        assert theirs.size < 2 or ours.strides == theirs.strides or None in (key if isinstance(key, tuple) else ())
    np.testing.assert_array_equal(a.T, x.T)
    np.testing.assert_array_equal(a.transpose(2, 0, 3, 1), x.transpose(2, 0, 3, 1))
    np.testing.assert_array_equal(a.transpose((-1, 0, 1, 2)), x.transpose(-1, 0, 1, 2))
    np.testing.assert_array_equal(a[0, 0].broadcast_to((6, 4, 5)), np.broadcast_to(x[0, 0], (6, 4, 5)))
    for shape in [(120,), (-1,), (6, 20), (2, 3, 20), (4, -1, 3), (1, 120, 1)]:
        np.testing.assert_array_equal(a.reshape(shape), x.reshape(shape))
        np.testing.assert_array_equal(a.T.reshape(shape), x.T.reshape(shape))
        np.testing.assert_array_equal(
            a[:, :, ::2].reshape(*x[:, :, ::2].reshape(-1, 3).shape), x[:, :, ::2].reshape(-1, 3)
        )
    a[0, 1] = 7  # the memory is numpy's
    assert (x[0, 1] == 7).all()
    a[1, :, 0] = np.arange(5, dtype="i4")
    assert (x[1, :, 0] == np.arange(5)).all()
    assert [int(row.sum().item()) for row in a] == [int(row.sum()) for row in x]
    with pytest.raises(IndexError, match="out of bounds"):
        a[2]
    with pytest.raises(IndexError, match="5 indices"):
        a[0, 0, 0, 0, 0]
    with pytest.raises(IndexError, match="other selections"):
        a[[0, 1]]  # type: ignore[index]


def test_making() -> None:
    assert kernels.zeros((2, 3), "int32", "cpu").tolist() == [[0] * 3] * 2
    assert kernels.full(3, 2.5, "float16", "cpu").tolist() == [2.5] * 3
    assert kernels.full((), 7).dtype == "int64"
    assert kernels.empty((0, 4), device="cpu").shape == (0, 4)
    lists = kernels.array([[1, 2], [3, 4]], device="cpu")
    assert (lists.dtype, lists.shape, lists.tolist()) == ("int64", (2, 2), [[1, 2], [3, 4]])
    assert kernels.array([1.5]).dtype == "float32"
    assert kernels.array([1.5], "bfloat16").tolist() == [1.5]
    assert kernels.array(b"abc").tolist() == [97, 98, 99]
    x = np.ones(4, "f4")
    shared, own = kernels.asarray(x), kernels.array(x)
    x[0] = 9
    assert shared.tolist()[0] == 9 and own.tolist()[0] == 1
    assert kernels.array(own, copy=False) is own
    assert kernels.array(own) is not own
    with pytest.raises(ValueError, match="without a copy"):
        kernels.array(x, "int32", copy=False)
    assert kernels.asarray(shared) is shared
    a = kernels.array(np.arange(6).reshape(2, 3))
    assert (a.ndim, a.size, a.itemsize, a.nbytes, a.strides, len(a)) == (2, 6, 8, 48, (24, 8), 2)
    assert (a.readonly, a.closed, a.device) == (False, False, "cpu")
    assert repr(a) == "Array([[0, 1, 2], [3, 4, 5]], shape=(2, 3), dtype=int64, device='cpu')"
    assert float(kernels.full((1, 1), 2.5)) == 2.5 and int(kernels.full((), 3)) == 3 and bool(kernels.full((), 1))
    assert kernels.default_device() == "cpu" and kernels.devices() == ["cpu"]


def test_dtypes_are_numpys() -> None:
    for name in (*FLOATS, *INTEGERS):
        dtype = kernels.DType(name)
        assert dtype == name and dtype == np.dtype(name) and np.dtype(name) == dtype and dtype == np.dtype(name).type
        assert np.dtype(dtype) == np.dtype(name) and dtype.itemsize == np.dtype(name).itemsize
        assert kernels.DType(np.dtype(name)) is dtype and hash(dtype) == hash(name)
    assert kernels.float32 != np.float64 and kernels.bfloat16 != np.float32 and kernels.float32 != 3
    assert kernels.bfloat16.itemsize == 2
    for wrong in ("complex64", "int16", np.bool_, ">f4", None, object()):
        with pytest.raises(kernels.DTypeError, match="arrays hold"):
            kernels.DType(wrong)
