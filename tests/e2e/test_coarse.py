"""The calls that gopy binds, against the hot path: both work on one session and see the same objects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eagleray._private import native


@pytest.fixture
def core(ray: Any) -> Any:
    """gopy's module, with a session running."""
    return native.core()


VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**40,
    1.5,
    "text",
    "ä€",
    [1, [2, "x"]],
    {"a": {"b": [None]}},
    [],
    {},
    "x" * 300_000,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_put_here_get_there(ray: Any, core: Any, value: Any) -> None:
    ref = ray.put(value)
    assert json.loads(core.pybind_Get(ref.hex(), 5000)) == value


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_put_there_get_here(ray: Any, core: Any, value: Any) -> None:
    name = core.pybind_Put(json.dumps(value))
    try:
        held = native.hot().ref_import(bytes.fromhex(name), "")
        assert ray.get(held) == value
        assert json.loads(core.pybind_Get(name, 0)) == value
    finally:
        core.pybind_Release(name)


def test_submit_equals_remote(ray: Any, core: Any) -> None:
    import math

    sqrt = ray.remote(num_cpus=1)(lambda x: math.sqrt(x))
    for x in (0, 2, 6.25):
        name = core.pybind_Submit("math:sqrt", json.dumps([x]))
        assert json.loads(core.pybind_Get(name, 10_000)) == ray.get(sqrt.remote(x)) == math.sqrt(x)
        core.pybind_Release(name)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (("pybind_Get", "zz", 0), "not hex"),
        (("pybind_Get", "00" * 28, 0), "not known"),
        (("pybind_Get", "00", 0), "28"),
        (("pybind_Put", "{nonsense"), "not JSON"),
        (("pybind_Submit", "nocolon", "[]"), "module:name"),
        (("pybind_Submit", "math:sqrt", "{}"), "not a JSON list"),
        (("pybind_Release", "xyz"), "not hex"),
    ],
)
def test_bad_input_is_an_error(core: Any, call: tuple[Any, ...], part: str) -> None:
    name, *args = call
    with pytest.raises(RuntimeError, match=part):
        getattr(core, name)(*args)


def test_exception_of_a_task_is_an_error(core: Any) -> None:
    name = core.pybind_Submit("math:sqrt", "[-1]")
    with pytest.raises(RuntimeError, match="exception"):
        core.pybind_Get(name, 10_000)
    core.pybind_Release(name)


def test_value_that_json_cannot_carry(ray: Any, core: Any) -> None:
    with pytest.raises(RuntimeError, match="not plain"):
        core.pybind_Get(ray.put({1, 2}).hex(), 0)


def test_without_a_session() -> None:
    from eagleray._private.state import process

    if process.session is None:
        with pytest.raises(RuntimeError, match="init"):
            native.core().pybind_Put("1")
