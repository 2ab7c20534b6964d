"""numpy arrays: read-only views on the store, copies where they are promised, types and layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
from casebook import attempt, case


@case
def read_only_from_the_store(ray: Any) -> None:
    array = np.arange(200_000, dtype=np.float64)
    ref = ray.put(array)
    stored = ray.get(ref)
    print("equal:", bool((stored == array).all()), "writeable:", stored.flags.writeable, array.flags.writeable)

    def write() -> None:
        stored[0] = 1

    attempt("write", write)
    print("a copy is writeable:", stored.copy().flags.writeable)


@case
def read_only_when_small(ray: Any) -> None:
    array = np.arange(3)
    print("put:", ray.get(ray.put(array)).flags.writeable)
    look = ray.remote(lambda x: x.flags.writeable)
    print("argument:", ray.get(look.remote(array)), ray.get(look.remote(ray.put(array))))
    print("result:", ray.get(ray.remote(lambda: np.arange(3)).remote()).flags.writeable)


@case
def read_only_arguments(ray: Any) -> None:
    look = ray.remote(lambda x: x.flags.writeable)
    array = np.zeros(300_000)
    print("by value:", ray.get(look.remote(array)))
    print("by reference:", ray.get(look.remote(ray.put(array))))
    print("nested:", ray.get(ray.remote(lambda box: box["a"].flags.writeable).remote({"a": array})))
    print("result:", ray.get(ray.remote(lambda: np.zeros(300_000)).remote()).flags.writeable)


@case
def writing_to_an_argument(ray: Any) -> None:
    @ray.remote
    def double(x: Any) -> Any:
        x *= 2
        return x

    attempt("large", lambda: ray.get(double.remote(np.ones(300_000))).sum())
    attempt("by reference", lambda: ray.get(double.remote(ray.put(np.ones(300_000)))).sum())
    attempt("small", lambda: ray.get(double.remote(np.ones(3))).sum())
    attempt("small by reference", lambda: ray.get(double.remote(ray.put(np.ones(3)))).sum())


@case
def no_copy_between_gets(ray: Any) -> None:
    ref = ray.put(np.zeros(500_000))
    first, second = ray.get(ref), ray.get(ref)
    print("the same memory:", bool(np.shares_memory(first, second)), "the same object:", first is second)


@case
def the_original_is_copied(ray: Any) -> None:
    array = np.zeros(300_000)
    ref = ray.put(array)
    array[0] = 5
    print(ray.get(ref)[0])


@case
def views_outlive_the_reference(ray: Any) -> None:
    ref = ray.put(np.arange(400_000))
    view = ray.get(ref)[100:200]
    del ref
    for _ in range(5):
        ray.put(np.ones(400_000))
    print(int(view.sum()))


@case
def types_and_shapes(ray: Any) -> None:
    arrays = [
        np.zeros((2, 3), dtype=np.float32),
        np.array(5),
        np.empty((0, 4), dtype=np.int8),
        np.array([True, False]),
        np.array(["a", "bcd"]),
        np.array([b"x"]),
        np.array([1 + 2j]),
        np.array(["2024-01-01"], dtype="datetime64[D]"),
        np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([1, "mixed", None], dtype=object),
        np.arange(6, dtype=">i4"),
    ]
    for array in arrays:
        back = ray.get(ray.put(array))
        print(back.dtype, back.shape, back.tolist(), bool((back == array).all()))


@case
def layouts(ray: Any) -> None:
    base = np.arange(120_000, dtype=np.int32).reshape(300, 400)
    for name, array in {"fortran": np.asfortranarray(base), "slice": base[::2, ::3], "transposed": base.T}.items():
        back = ray.get(ray.put(array))
        print(name, back.shape, back.flags.c_contiguous, back.flags.f_contiguous, bool((back == array).all()))


@case
def scalars_and_containers(ray: Any) -> None:
    for value in (np.float64(1.5), np.int8(3), np.bool_(True), np.str_("s"), np.datetime64("2024-01-01")):
        back = ray.get(ray.put(value))
        print(type(back).__name__, back)
    nested = ray.get(ray.put({"list": [np.arange(3), np.arange(2)], "tuple": (np.ones(200_000),)}))
    print([part.tolist() for part in nested["list"]], nested["tuple"][0].sum())


@case
def shared_buffers(ray: Any) -> None:
    array = np.zeros(200_000)
    pair = ray.get(ray.put([array, array]))
    print("one array twice:", pair[0] is pair[1])


@case
def subclasses_and_masks(ray: Any) -> None:
    masked = ray.get(ray.put(np.ma.masked_array([1, 2, 3], mask=[0, 1, 0])))
    print(type(masked).__name__, masked.tolist())
    records = ray.get(ray.put(np.rec.array([(1, "a")], dtype=[("n", "i4"), ("s", "U1")])))
    print(type(records).__name__, records.n.tolist())


@case
def alignment(ray: Any) -> None:
    for dtype in (np.float64, np.float32, np.uint8):
        back = ray.get(ray.put([np.ones(100_001, dtype=dtype), np.ones(100_001, dtype=dtype)]))
        print(np.dtype(dtype).name, [array.ctypes.data % 64 for array in back])


@case
def many_results(ray: Any) -> None:
    make = ray.remote(lambda i: np.full(20_000, i))
    print([int(array[0]) for array in ray.get([make.remote(i) for i in range(12)])])


@case
def bytes_and_views(ray: Any) -> None:
    data = bytes(range(256)) * 4000
    print(ray.get(ray.put(data)) == data, type(ray.get(ray.put(data))).__name__)
    view = ray.get(ray.put(memoryview(data)))
    print(type(view).__name__, bytes(view) == data)
