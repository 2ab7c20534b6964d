"""Parts of the package that need no session: values, signatures, exceptions, what is to blame."""

from __future__ import annotations

import functools
import pickle
import sys
import threading
from types import FrameType
from types import SimpleNamespace as Namespace
from typing import Any

import eagleray
import msgpack
import pytest
from eagleray import exceptions
from eagleray._private import faults, task_error
from eagleray._private.calls import arguments
from eagleray._private.calls.signatures import CallShape, params_of
from eagleray._private.hot_error import HotError
from eagleray._private.values import formats, inspection, serialization
from eagleray._private.values.formats import ARGS, BYTES, MSGPACK, NDARRAY, NONE, PICKLE


@pytest.mark.parametrize(
    ("value", "fmt"),
    [
        (None, NONE),
        (1, MSGPACK),
        (True, MSGPACK),
        (2**64 - 1, MSGPACK),
        (2**64, PICKLE),
        (1.5, MSGPACK),
        ("x", MSGPACK),
        ("\udc80", PICKLE),
        (b"x", MSGPACK),
        (b"x" * 5000, BYTES),
        (bytearray(b"x"), PICKLE),
        ([1, "a", None, {"k": [2.5]}], MSGPACK),
        ([1, (2,)], PICKLE),
        ({"k": bytearray(b"x")}, PICKLE),
        ({"k": b"x", "v": [196, 0xC5]}, MSGPACK),
        ([{1: 2}, {b"b": 3}, {None: 1}], MSGPACK),
        ({(1, 2): 3}, PICKLE),
        ({1, 2}, PICKLE),
    ],
    ids=str,
)
def test_format_of_values(value: Any, fmt: int) -> None:
    encoded = serialization.encode(value)
    assert encoded[0] == fmt
    back = serialization.decode((encoded[0], encoded[1], encoded[2]))
    assert back == value and type(back) is type(value)


def test_subclasses_are_never_flattened() -> None:
    class Name(str):
        pass

    class Row(dict):  # type: ignore[type-arg]
        pass

    class Flag(int):
        pass

    for value in (Name("x"), [Name("x")], {"k": Row(a=1)}, [Flag(1)], {Flag(1): 2}):
        assert serialization.encode(value)[0] == PICKLE


def test_cycles_fall_back() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert serialization.encode(cycle)[0] == PICKLE


def test_packer_may_be_entered_again() -> None:
    seen: list[Any] = []

    # What a finalizer does that runs while a value is being packed.
    serialization._packing = True
    try:
        seen.append(serialization.encode([1, 2]))
    finally:
        serialization._packing = False
    assert msgpack.unpackb(seen[0][1]) == [1, 2]


def test_arrays_go_as_they_lie() -> None:
    np = pytest.importorskip("numpy")
    array = np.arange(6.0).reshape(2, 3)
    fmt, meta, buffers, nested = serialization.encode(array)
    assert fmt == NDARRAY and nested is None and buffers is not None and buffers[0] is array
    assert msgpack.unpackb(meta) == ["<f8", [2, 3], "C"]
    fmt, meta, buffers, _ = serialization.encode(array.T)
    assert fmt == NDARRAY and msgpack.unpackb(meta)[2] == "F"
    back = serialization.decode((fmt, meta, buffers))
    assert (back == array.T).all() and back.flags.f_contiguous
    assert serialization.encode(np.array([None]))[0] == PICKLE


def simple(a: int, b: int = 2) -> None: ...
def keyword(a: int, *, b: int) -> None: ...
def anything(*args: Any, **kwargs: Any) -> None: ...


@functools.wraps(simple)
def wrapped(*args: Any, **kwargs: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "bounds"),
    [(simple, (1, 2)), (keyword, (1 << 30, 1)), (anything, (0, 1 << 30)), (wrapped, (1, 2)), (len, (1, 1))],
)
def test_bounds_of_calls(function: Any, bounds: tuple[int, int]) -> None:
    shape = CallShape(params_of(function, bound=False))
    assert (shape.least, shape.most) == bounds


def test_shapes_travel_as_plain_lists() -> None:
    params = params_of(simple, bound=False)
    shape = CallShape(msgpack.unpackb(msgpack.packb(params)))
    shape.check((1,), {"b": 3})
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        shape.check((), {})
    with pytest.raises(TypeError, match="too many positional"):
        shape.check((1, 2, 3), {})
    assert shape.name_of(1) == "argument 'b'" and shape.name_of(5) == "argument 5"


def test_bound_methods_lose_self() -> None:
    class A:
        def m(self, x: int) -> None: ...

        def of_class(*args: Any) -> None: ...

    assert params_of(A.m, bound=True) == [("x", 1, False)]
    assert CallShape(params_of(A.of_class, bound=True)).most == 1 << 30


def test_culprit_is_found_in_depth() -> None:
    class Holder:
        def __init__(self) -> None:
            self.items = [1, {"lock": threading.Lock()}]

    part, path, reason = inspection.find_culprit(Holder(), TypeError("outer"))
    assert path == [".items", "[1]", "['lock']"] and "lock" in reason and isinstance(part, type(threading.Lock()))
    lock = threading.Lock()
    part, path, _ = inspection.find_culprit(lambda: lock, TypeError("outer"))
    assert part is lock and path == ["captured variable 'lock'"]


def test_every_fault_has_an_exception() -> None:
    for code in faults.TABLE:
        error = faults.to_exception(code, "a message")
        assert isinstance(error, (exceptions.RayError, ValueError)) and "a message" in str(error), code
        assert str(pickle.loads(pickle.dumps(error))) == str(error), code
    assert isinstance(faults.to_exception("from_the_future", "x"), exceptions.RaySystemError)
    dual = faults.of_dependant("worker_crashed", "it crashed", "f")
    assert isinstance(dual, exceptions.WorkerCrashedError) and isinstance(dual, exceptions.RayTaskError)


def test_codes_are_those_of_the_core() -> None:
    import re
    from pathlib import Path

    source = Path(__file__).parents[2] / "core" / "fault" / "fault.go"
    crossing, only_in_go = source.read_text().split("never cross a socket")
    codes = set(re.findall(r'Code = "(\w+)"', crossing))
    assert codes == set(faults.TABLE)
    assert re.findall(r'Code = "(\w+)"', only_in_go) == [
        *("deadline_exceeded", "canceled", "exception"),
        *("no_cluster", "type_mismatch", "not_plain"),
        *("version_conflict", "too_large", "compacted", "lease_lost"),
    ]


class Picky(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a}+{b}")
        self.a = a


def carried(error: BaseException) -> exceptions.RayError:
    try:
        raise error
    except BaseException as caught:
        return task_error.decode(task_error.encode(task_error.task_error(caught, "f", pid=1, ip="::1", skip=0)))


def test_exceptions_whose_constructors_differ_survive() -> None:
    found = carried(Picky(1, 2))
    assert isinstance(found, Picky) and isinstance(found, exceptions.RayTaskError)
    assert found.a == 1 and "1+2" in str(found) and found.cause.args == ("1+2",)


def test_exceptions_that_cannot_be_pickled_keep_their_text() -> None:
    error = ValueError("the text")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    found = carried(error)
    assert isinstance(found, exceptions.RayTaskError) and "the text" in str(found)


def test_task_error_of_a_task_error_keeps_the_cause() -> None:
    inner = carried(KeyError("root"))
    outer = carried(inner)
    assert type(outer).__name__ == "RayTaskError(KeyError)" and isinstance(outer.cause, KeyError)


def test_actor_error_keeps_its_cause() -> None:
    cause = exceptions.RayTaskError("A.__init__", "ValueError: no", ValueError("no"), actor_id="ab")
    found = task_error.decode(task_error.encode(exceptions.ActorDiedError(cause)))
    assert isinstance(found, exceptions.ActorDiedError) and isinstance(found.__cause__, ValueError)
    assert found.actor_init_failed and found.actor_id == "ab" and "A.__init__" in str(found)


def python_functions(call: Any) -> list[str]:
    """The names of the Python functions that a call enters."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            entered.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered


def test_few_python_functions_are_on_the_way_of_arguments_and_values() -> None:
    """Each costs every call about 2 % of a worker's time."""
    data = pickle.dumps(((1,), {}), 5)
    assert python_functions(lambda: arguments.decode_args(ARGS, data, None, None)) == [
        "<lambda>",
        "decode_args",
        "loads",
    ]
    value = pickle.dumps((1, 2), 5)
    assert python_functions(lambda: serialization.decode((PICKLE, value, None))) == [
        "<lambda>",
        "decode",
        "_decode_pickle",
    ]


@pytest.mark.parametrize(
    "short", [b"", task_error.encode(exceptions.ActorDiedError("in short"))], ids=["none", "short"]
)
def test_an_exception_that_lies_elsewhere(short: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is fetched; when it cannot be had, what is known of it in short is told, or why it cannot."""
    whole = (formats.ERROR, task_error.encode(exceptions.ActorDiedError("the whole")), None)
    lost = (formats.FAULT, msgpack.packb(["object_lost", "it is lost"]), None)

    class Hot:
        found: Any = whole

        def ref_import(self, object_id: bytes, owner: str) -> tuple[bytes, str]:
            return object_id, owner

        def get(self, reference: tuple[bytes, str], timeout_ms: int) -> Any:
            assert reference == (b"id", "/owner") and timeout_ms == -1
            if isinstance(self.found, Exception):
                raise self.found
            return self.found

    session = Namespace(hot=Hot())
    monkeypatch.setattr(serialization, "process", Namespace(require=lambda: session))
    assert "the whole" in str(serialization.fetch_error(b"id", "/owner", 9, short))
    for gone in (lost, HotError("object_lost", "it is lost")):
        session.hot.found = gone
        assert ("in short" if short else "it is lost") in str(serialization.fetch_error(b"id", "/owner", 9, short))


def test_messages_of_exceptions() -> None:
    assert "daemon died" in str(exceptions.LocalRayletDiedError())
    assert str(exceptions.LocalRayletDiedError("mine")) == "mine"


def test_method_with_and_without_parentheses() -> None:
    def f(self: Any) -> None: ...

    assert eagleray.method(f) is f
    assert eagleray.method()(f) is f
    assert eagleray.method(num_returns=2)(f) is f
    assert f.__eagleray_method__ == {"num_returns": 2}  # type: ignore[attr-defined]
