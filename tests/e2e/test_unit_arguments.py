"""What a call takes along arrives as it was, by whichever way it was encoded."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from eagleray._private.calls import arguments
from eagleray._private.calls.signatures import CallShape
from eagleray._private.values.device_arrays import References
from eagleray._private.values.formats import ERROR
from eagleray._private.values.serialization import encode


class Ref:
    """Stands in for a reference."""

    def __init__(self, value: Any) -> None:
        self.value = value


def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


ONE, TWO = Ref(1), Ref("two")
CALLS = [
    call(),
    call(7),
    call(ONE),
    call(ONE, TWO, ONE),
    call(*[ONE] * 40),
    call(ONE, 7, None),
    call(7, ONE, "text", True, 2.5),
    call(7, key=ONE),
    call(ONE, key=TWO, other=3),
    call(key=7),
    call([1, 2], ONE, key={"a": (1, 2)}, ref=TWO),
    call(b"bytes", ONE),
    call([None], {}, [0]),  # like what stands for references
]


@pytest.fixture
def reference(monkeypatch: Any) -> None:
    monkeypatch.setattr(References, "kind", Ref)


@pytest.mark.parametrize("given", CALLS, ids=range(len(CALLS)))
def test_arrives_as_it_was(reference: None, given: Any) -> None:
    args, kwargs = given
    kept = list(args), dict(kwargs)
    fmt, meta, buffers, deps, nested = arguments.encode_args(args, kwargs, CallShape(None), "call")
    assert nested is None
    assert [dep.value for dep in deps or ()] == [
        value.value for value in (*args, *kwargs.values()) if type(value) is Ref
    ]
    found = arguments.decode_args(fmt, meta, buffers, [encode(dep.value)[:3] for dep in deps] if deps else None)
    plain = [value.value if type(value) is Ref else value for value in args]
    named = {name: value.value if type(value) is Ref else value for name, value in kwargs.items()}
    assert (list(found[0]), found[1]) == (plain, named)
    assert (list(args), kwargs) == kept, "what the caller gave was changed"


def test_a_reference_that_cannot_be_unpickled_is_told(reference: None) -> None:
    fmt, meta, buffers, _, _ = arguments.encode_args((ONE, TWO), {}, CallShape(None), "call")
    broken = (ERROR, b"\xc1", None)
    with pytest.raises(arguments.RaySystemError, match="cannot be unpickled"):
        arguments.decode_args(fmt, meta, buffers, [encode(1)[:3], broken])


def test_forms_of_references_are_as_pickled_ones() -> None:
    for count in (0, 1, 2, 300):
        form = pickle.loads(arguments.only_references(count))
        assert form == (((None,) * count, {}, list(range(count))) if count else ((), {}))
