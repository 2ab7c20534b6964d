"""Values that go through the object store and come back."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import gc
import math
import os
import pickle
import threading
import uuid
from typing import Any, NamedTuple

import pytest
from pace import PATIENCE_S

np = pytest.importorskip("numpy")


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    a: int
    b: str


class Text(str):
    pass


VALUES = [
    None,
    True,
    0,
    -1,
    2**63 - 1,
    2**64 - 1,
    2**64,
    -(2**70),
    1.5,
    -0.0,
    float("inf"),
    "",
    "äöü€😀",
    "\ud800",
    b"",
    b"\x00\xff",
    b"x" * 1_000_000,
    "y" * 1_000_000,
    bytearray(b"abc"),
    [],
    [1, [2, [3, {}]]],
    {},
    {"a": 1, 2: "b", None: 3, 1.5: 4, b"k": 5, (1, 2): 6},
    (),
    (1, (2, 3)),
    [(1, 2), {3}],
    {1, 2},
    frozenset({1}),
    range(5),
    slice(1, 2, 3),
    1 + 2j,
    Ellipsis,
    collections.OrderedDict(a=1, b=2),
    collections.defaultdict(list, a=[1]),
    collections.deque([1, 2], maxlen=3),
    collections.Counter("abca"),
    datetime.datetime(2024, 2, 29, 12, 0, tzinfo=datetime.timezone.utc),
    datetime.timedelta(days=1),
    decimal.Decimal("1.10"),
    uuid.UUID(int=5),
    Colour.RED,
    Pair(1, "x"),
    Text("sub"),
    [Text("sub")],
    [True, 1, 1.0],
    list(range(100_000)),
    {str(i): [i, float(i)] for i in range(1000)},
    int,
    math.sqrt,
]


@pytest.mark.parametrize("value", VALUES, ids=[f"{i}-{type(v).__name__}" for i, v in enumerate(VALUES)])
def test_put_and_task_give_the_same_value(ray: Any, value: Any) -> None:
    @ray.remote
    def same(x: Any) -> Any:
        return x

    for back in (ray.get(ray.put(value)), ray.get(same.remote(value)), ray.get(same.remote(ray.put(value)))):
        assert type(back) is type(value) and back == value
        if isinstance(value, (list, tuple)):
            assert [type(item) for item in back] == [type(item) for item in value]


def test_bytearray_keeps_its_type_inside(ray: Any) -> None:
    back = ray.get(ray.put({"a": [bytearray(b"x"), b"y"]}))
    assert type(back["a"][0]) is bytearray and type(back["a"][1]) is bytes


def test_nan_and_cycles(ray: Any) -> None:
    assert math.isnan(ray.get(ray.put(float("nan"))))
    cycle: list[Any] = [1]
    cycle.append(cycle)
    back = ray.get(ray.put(cycle))
    assert back[0] == 1 and back[1] is back


ARRAYS = [
    np.arange(3),
    np.arange(12.0).reshape(3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.arange(24).reshape(2, 3, 4)[:, ::2],
    np.array(5),
    np.zeros((0, 3)),
    np.array([1 + 2j]),
    np.array(["ab", "c"]),
    np.array([b"ab", b"c"]),
    np.array(["2024-02-29"], dtype="M8[D]"),
    np.array([5], dtype="m8[ns]"),
    np.array([1, "x", None], dtype=object),
    np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
    np.arange(4, dtype=">i4"),
    np.float16([1.5]),
    np.array([True, False]),
    np.zeros(300_000),
]


@pytest.mark.parametrize("array", ARRAYS, ids=[f"{i}-{a.dtype}" for i, a in enumerate(ARRAYS)])
def test_arrays(ray: Any, array: Any) -> None:
    @ray.remote
    def same(x: Any) -> Any:
        assert x.flags.writeable is free
        return x

    # numpy itself pickles only contiguous memory out of band, and no dates.
    free = array.dtype.kind in "OmM" or not (array.flags.c_contiguous or array.flags.f_contiguous)

    for back in (ray.get(ray.put(array)), ray.get(same.remote(array)), ray.get(ray.put([array]))[0]):
        assert back.dtype == array.dtype and back.shape == array.shape
        assert (back == array).all()
    back = ray.get(ray.put(array))
    if not array.dtype.hasobject and array.size:
        with pytest.raises(ValueError):
            back[...] = back
        assert back.copy().flags.writeable


def test_views_share_memory_and_outlive_the_reference(ray: Any) -> None:
    ref = ray.put(np.arange(1_000_000))
    first, second = ray.get(ref), ray.get(ref)
    assert first.__array_interface__["data"][0] == second.__array_interface__["data"][0]
    assert first.ctypes.data % 64 == 0
    del ref, second
    gc.collect()
    for _ in range(20):  # what is freed is used again
        ray.put(np.zeros(1_000_000, dtype="i8"))
    assert first[-1] == 999_999 and first.sum() == 499_999_500_000


def test_same_array_twice_is_one_object(ray: Any) -> None:
    array = np.arange(10)
    a, b = ray.get(ray.put((array, array)))
    assert a is b


def test_pickling_happens_once_at_put(ray: Any) -> None:
    value = {"n": [1]}
    ref = ray.put(value)
    value["n"].append(2)
    back = ray.get(ref)
    assert back == {"n": [1]}
    back["n"].append(9)
    assert ray.get(ref) == {"n": [1]}, "each get makes a value of its own"


def test_references_of_many_owners_have_many_hashes(ray: Any) -> None:
    # The owners of one node have ids that begin with the same number, and a set looks at the low bits of a hash first.
    node = (1).to_bytes(4, "big")
    found = {hash(ray.ObjectRef(bytes(8) + node + os.urandom(8) + bytes(8))) & 0xFFFF for _ in range(1000)}
    assert len(found) > 900


def test_reference_is_a_value(ray: Any) -> None:
    ref = ray.put(1)
    assert ref == ref and hash(ref) == hash(ref) and ref != ray.put(1)
    assert len(ref.hex()) == 56 and ref.hex() == ref.binary().hex() and repr(ref) == f"ObjectRef({ref.hex()})"
    assert {ref: 1}[ref] == 1
    assert len(ref.task_id().hex()) == 48
    copied = pickle.loads(pickle.dumps(ref))
    assert copied == ref and ray.get(copied) == 1
    with pytest.raises(TypeError):
        ray.put(ref)


def test_destructors_may_drop_references(ray: Any) -> None:
    class Holder:
        def __init__(self) -> None:
            self.refs = [ray.put(i) for i in range(10)]
            self.me = self

        def __del__(self) -> None:
            self.refs.clear()
            ray.put("from a destructor")

    for _ in range(50):
        Holder()
        ray.put([{"a": i} for i in range(50)])
    gc.collect()
    assert ray.get(ray.put("fine")) == "fine"


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (threading.Lock(), "lock"),
        ({"a": [1, {"l": threading.Lock()}]}, "['a'] → [1] → ['l']"),
        ((x for x in ()), "generator"),
    ],
)
def test_unserialisable_values_are_named(ray: Any, value: Any, part: str) -> None:
    @ray.remote
    def take(x: Any) -> None:
        return None

    with pytest.raises(TypeError, match="cannot pickle") as caught:
        ray.put(value)
    assert part in str(caught.value)
    with pytest.raises(TypeError) as caught:
        take.remote(x=value)
    assert part in str(caught.value) and "argument 'x' of take" in str(caught.value)


def test_unserialisable_capture_and_result(ray: Any) -> None:
    lock = threading.Lock()

    @ray.remote
    def captures() -> Any:
        return lock

    @ray.remote
    def returns() -> Any:
        return {"k": threading.Lock()}

    with pytest.raises(TypeError, match="captured variable 'lock'"):
        captures.remote()
    with pytest.raises(TypeError, match=r"\['k'\]") as caught:
        ray.get(returns.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_inspect_serializability(ray: Any, capsys: Any) -> None:
    good, parts = ray.util.inspect_serializability([1, 2])
    assert good and not parts
    lock = threading.Lock()
    good, parts = ray.util.inspect_serializability(lambda: lock, name="f")
    assert not good and {part.obj for part in parts} == {lock}
    assert "lock" in capsys.readouterr().out


def test_register_serializer(ray: Any) -> None:
    class Socket:
        def __init__(self, port: int) -> None:
            self.port = port
            self.lock = threading.Lock()

    ray.util.register_serializer(Socket, serializer=lambda s: s.port, deserializer=lambda port: Socket(port))
    try:
        assert ray.get(ray.put(Socket(5))).port == 5
    finally:
        ray.util.deregister_serializer(Socket)
    with pytest.raises(TypeError):
        ray.put(Socket(5))


class FromState:
    """Answers unknown names from an attribute that an object without its state has not, as starlette's State does."""

    def __init__(self, **state: Any) -> None:
        super().__setattr__("_state", state)

    def __setattr__(self, name: str, value: Any) -> None:
        self._state[name] = value

    def __getattr__(self, name: str) -> Any:
        try:
            return self._state[name]
        except KeyError:
            raise AttributeError(name) from None


class FromSlot:
    """The same with slots, and an error that is no AttributeError."""

    __slots__ = ("found",)

    def __init__(self, **found: Any) -> None:
        self.found = found

    def __getattr__(self, name: str) -> Any:
        return object.__getattribute__(self, "found")[name]

    def __reduce__(self) -> Any:
        return _from_slot, (self.found,)


def _from_slot(found: dict[str, Any]) -> FromSlot:
    return FromSlot(**found)


@pytest.mark.parametrize("kind", [FromState, FromSlot])
def test_objects_that_answer_unknown_names_travel(ray: Any, kind: Any) -> None:
    made = kind(a=1, ref=ray.put(2), array=np.arange(100_000))
    inside = {"list": [made, made]}

    @ray.remote
    def look(x: Any, more: Any) -> Any:
        return x.a, ray.get(x.ref), int(x.array[-1]), int(more["list"][0].array.sum()), x, captured()

    def captured() -> int:
        return made.a  # type: ignore[no-any-return]

    *found, back, of_function = ray.get(look.remote(made, inside), timeout=PATIENCE_S)
    assert found == [1, 2, 99_999, 4_999_950_000] and (back.a, of_function) == (1, 1)
    again = ray.get(ray.put(inside))["list"]
    assert again[0] is again[1] and again[0].a == 1 and not again[0].array.flags.writeable

    @ray.remote
    def fail() -> None:
        problem = ValueError("with state")
        problem.state = made  # type: ignore[attr-defined]
        raise problem

    with pytest.raises(ValueError, match="with state") as caught:
        ray.get(fail.remote(), timeout=PATIENCE_S)
    assert caught.value.cause.state.a == 1  # type: ignore[attr-defined]
