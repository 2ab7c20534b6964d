"""Large values lie in shared memory: what is read there, what is copied, and who may write."""

from __future__ import annotations

import array
import dataclasses
import pickle
from typing import Any

import numpy as np
from casebook import attempt, case

SIZE = 300_000


def address(value: Any) -> int:
    return (
        int(np.frombuffer(value, np.uint8).ctypes.data) if not isinstance(value, np.ndarray) else int(value.ctypes.data)
    )


@dataclasses.dataclass
class Sample:
    name: str
    values: np.ndarray
    more: dict[str, Any]


@case
def nested_arrays_share_memory(ray: Any) -> None:
    ref = ray.put({"a": np.ones(SIZE), "b": [np.zeros(SIZE, np.float32), (np.arange(SIZE),)]})
    x, y = ray.get(ref), ray.get(ref)
    print(
        address(x["a"]) == address(y["a"]),
        address(x["b"][0]) == address(y["b"][0]),
        address(x["b"][1][0]) == address(y["b"][1][0]),
    )
    print(x["a"].flags.writeable, x["b"][0].flags.writeable, x["b"][1][0].flags.writeable, x["b"] is y["b"])


@case
def dataclasses_share_memory(ray: Any) -> None:
    ref = ray.put(Sample("s", np.ones(SIZE), {"x": np.zeros(SIZE)}))
    x, y = ray.get(ref), ray.get(ref)
    print(
        address(x.values) == address(y.values),
        address(x.more["x"]) == address(y.more["x"]),
        x.values.flags.writeable,
        x.name,
    )


@case
def kinds_of_arrays_share_memory(ray: Any) -> None:
    for dtype in (
        "b1",
        "u1",
        "i2",
        "u4",
        "i8",
        "f2",
        "f4",
        "f8",
        "c8",
        "c16",
        "M8[ns]",
        "m8[s]",
        "S5",
        "U3",
        "i4,f8",
        ">i4",
    ):
        source = np.zeros(SIZE, dtype=dtype)
        ref = ray.put(source)
        x, y = ray.get(ref), ray.get(ref)
        print(
            dtype,
            x.dtype == source.dtype,
            x.__array_interface__["data"][0] == y.__array_interface__["data"][0],
            x.flags.writeable,
        )


@case
def structured_arrays(ray: Any) -> None:
    table = np.zeros(1000, dtype=[("id", "i4"), ("name", "U8"), ("pos", "f8", (3,)), ("when", "M8[D]")])
    table["id"] = np.arange(1000)
    table["pos"][:, 1] = 2.5
    back = ray.get(ray.put(table))
    print(
        back.dtype == table.dtype,
        back["id"].sum(),
        back["pos"].sum(),
        back["name"][3] == "",
        bool((back == table).all()),
    )
    aligned = np.zeros(10, dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True))
    print(ray.get(ray.put(aligned)).dtype == aligned.dtype)
    titled = np.zeros(3, dtype=[(("title", "a"), "i4")])
    print(ray.get(ray.put(titled)).dtype.fields.keys() == titled.dtype.fields.keys())
    print(ray.get(ray.put(table["pos"])).sum(), ray.get(ray.put(table[::2]))["id"].sum())


@case
def object_arrays(ray: Any) -> None:
    mixed = np.array([1, "a", None, [1], np.arange(3)], dtype=object)
    back = ray.get(ray.put(mixed))
    print(back.dtype, back[3], back[4].tolist(), back.flags.writeable)


@case
def odd_shapes(ray: Any) -> None:
    base = np.arange(2 * SIZE).reshape(2, -1)
    for label, value in {
        "scalar": np.array(3.5),
        "empty": np.empty((0, 3)),
        "one": np.ones((1, 1, 1)),
        "column": base[:, 0],
        "negative": base[:, ::-1][0],
        "broadcast": np.broadcast_to(np.arange(3), (4, 3)),
        "fortran": np.asfortranarray(base),
        "window": base[:, 5:10],
        "swapped": np.swapaxes(np.zeros((2, 3, 4)), 0, 2),
    }.items():
        back = ray.get(ray.put(value))
        print(label, back.shape, bool((back == value).all()), back.flags.writeable)


@case
def subclasses_of_arrays(ray: Any) -> None:
    class Named(np.ndarray):
        name = "n"

    value = np.arange(SIZE).view(Named)
    back = ray.get(ray.put(value))
    print(type(back).__name__, back.name, int(back.sum()) == int(np.arange(SIZE).sum()))
    matrix = ray.get(ray.put(np.matrix([[1, 2], [3, 4]])))
    print(type(matrix).__name__, (matrix * matrix).tolist())
    masked = np.ma.masked_array(np.arange(SIZE), mask=np.arange(SIZE) % 2)
    print(int(ray.get(ray.put(masked)).sum()) == int(masked.sum()))
    print(type(ray.get(ray.put(np.float32(1.5)))).__name__, ray.get(ray.put(np.array("x"))).item())


@case
def bytes_and_their_like(ray: Any) -> None:
    for value in (bytes(SIZE), array.array("d", [1.5] * 10), memoryview(bytes(SIZE)), bytes(10), b""):
        back = ray.get(ray.put(value))
        print(type(value).__name__, type(back).__name__, len(back) == len(value), bytes(back) == bytes(value))
    view = ray.get(ray.put(memoryview(bytearray(SIZE))))
    print(type(view).__name__, len(view))


@case
def buffers_of_pickle(ray: Any) -> None:
    class Blob:
        def __init__(self, data: Any) -> None:
            self.data = data

        def __reduce_ex__(self, protocol: int) -> Any:
            if protocol >= 5:
                return Blob, (pickle.PickleBuffer(self.data),)
            return Blob, (bytes(self.data),)

    ref = ray.put(Blob(bytearray(b"ab" * SIZE)))
    x, y = ray.get(ref), ray.get(ref)
    print(memoryview(x.data).readonly, address(x.data) == address(y.data), bytes(memoryview(x.data)[:4]))
    small = ray.get(ray.put(Blob(b"abc")))
    print(bytes(small.data), memoryview(small.data).readonly)
    many = ray.get(ray.put([Blob(bytes([i]) * 5000) for i in range(20)]))
    print([bytes(memoryview(b.data)[:1])[0] for b in many] == list(range(20)))


@case
def arguments_share_memory(ray: Any) -> None:
    look = ray.remote(lambda x, y: (x.flags.writeable, bool(np.shares_memory(x, y)), float(x.sum())))
    ref = ray.put(np.ones(SIZE))
    print(ray.get(look.remote(ref, ref)))
    nested = ray.remote(lambda box: [ray.get(r).flags.writeable for r in box])
    print(ray.get(nested.remote([ref])))


@case
def results_share_memory(ray: Any) -> None:
    ref = ray.remote(lambda: {"x": np.ones(SIZE)}).remote()
    x, y = ray.get(ref), ray.get(ref)
    print(address(x["x"]) == address(y["x"]), x["x"].flags.writeable)
    two = ray.remote(num_returns=2)(lambda: (np.ones(SIZE), np.zeros(SIZE))).remote()
    print([float(v.sum()) for v in ray.get(two)])


@case
def an_actor_keeps_an_argument(ray: Any) -> None:
    @ray.remote
    class Keeper:
        def keep(self, x: Any) -> None:
            self.x = x

        def sum(self) -> float:
            return float(self.x.sum())

        def write(self) -> None:
            self.x[0] = 1

    keeper = Keeper.remote()
    ray.get(keeper.keep.remote(np.ones(SIZE)))
    for _ in range(3):
        ray.put(np.zeros(SIZE))
    print(ray.get(keeper.sum.remote()))
    attempt("write", lambda: ray.get(keeper.write.remote()))


@case
def a_view_of_a_view(ray: Any) -> None:
    back = ray.get(ray.put(np.arange(SIZE)))
    part = back[10:20]
    print(part.flags.writeable, part.base is not None)
    again = ray.get(ray.put(part))
    print(again.tolist() == list(range(10, 20)))
    attempt("set the flag", lambda: back.setflags(write=True))


@case
def copies_can_be_written(ray: Any) -> None:
    import copy

    back = ray.get(ray.put({"a": np.zeros(SIZE)}))
    deep = copy.deepcopy(back)
    deep["a"][0] = 5
    back["b"] = 1
    print(deep["a"][0], back["a"][0], sorted(back))
    whole = np.array(back["a"])
    whole += 1
    print(whole.sum())
