"""Functions and methods of actors have one submitter: arguments are taken and results returned in the same way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pace import PATIENCE_S

KINDS = ("function", "method")


def _remote(ray: Any, kind: str, function: Callable[..., Any]) -> Any:
    """What has ``remote`` and ``options`` and runs the function. The name in messages is ``work`` or ``Actor.work``."""
    if kind == "function":
        return ray.remote(num_cpus=0)(function)
    actor = ray.remote(num_cpus=0)(type("Actor", (), {"work": staticmethod(function)})).remote()
    method = actor.work
    method.keeps_the_actor = actor
    return method


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_of_every_form_arrive(ray: Any, kind: str) -> None:
    def work(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    remote = _remote(ray, kind, work).remote
    ref = ray.put("stored")
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((1, "two", 3.0, None, True), {}),
        ((b"bytes", [1], {"a": (2,)}), {}),
        ((1,), {"key": "value", "list": [1]}),
    ]
    for args, kwargs in calls:
        assert ray.get(remote(*args, **kwargs), timeout=PATIENCE_S) == (args, kwargs)
    assert ray.get(remote(ref), timeout=PATIENCE_S) == (("stored",), {})
    assert ray.get(remote(1, ref, key=ref), timeout=PATIENCE_S) == ((1, "stored"), {"key": "stored"})
    (inside,), _ = ray.get(remote([ref]), timeout=PATIENCE_S)
    assert inside == [ref]


@pytest.mark.parametrize("kind", KINDS)
def test_results_come_as_the_options_say(ray: Any, kind: str) -> None:
    def work(count: int) -> Any:
        return tuple(range(count))

    made = _remote(ray, kind, work)
    assert ray.get(made.remote(2), timeout=PATIENCE_S) == (0, 1)
    assert made.options(num_returns=0).remote(0) is None
    for count in (2, 3):
        refs = made.options(num_returns=count).remote(count)
        assert isinstance(refs, list) and ray.get(refs, timeout=PATIENCE_S) == list(range(count))
    assert ray.get(made.remote(1), timeout=PATIENCE_S) == (0,), "options() changes only what it returns"


@pytest.mark.parametrize("kind", KINDS)
def test_results_of_generators_come_as_the_options_say(ray: Any, kind: str) -> None:
    def work(count: int) -> Iterator[int]:
        yield from range(count)

    made = _remote(ray, kind, work)
    for stream in (made.remote(3), made.options(num_returns="streaming").remote(3)):
        assert isinstance(stream, ray.ObjectRefGenerator)
        assert [ray.get(ref, timeout=PATIENCE_S) for ref in stream] == [0, 1, 2]
    with pytest.warns(DeprecationWarning, match="deprecated"):
        dynamic = made.options(num_returns="dynamic")
    assert ray.get(list(ray.get(dynamic.remote(3), timeout=PATIENCE_S)), timeout=PATIENCE_S) == [0, 1, 2]
    assert ray.get(made.options(num_returns=2).remote(2), timeout=PATIENCE_S) == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_arguments_are_refused_where_the_call_is_made(ray: Any, kind: str) -> None:
    def work(needed: int, *, key: int = 0) -> None: ...

    remote = _remote(ray, kind, work).remote
    for args, kwargs in (((), {}), ((1, 2), {}), ((1,), {"other": 1}), ((1,), {"needed": 1})):
        with pytest.raises(TypeError):
            remote(*args, **kwargs)
    name = "work" if kind == "function" else r"Actor\.work"
    with pytest.raises(TypeError, match=rf"'needed' of {name}"):
        remote(needed=threading.Lock())


@pytest.mark.parametrize("kind", KINDS)
def test_references_that_code_captured_live_as_long_as_it_can_be_called(ray: Any, kind: str) -> None:
    def captures() -> Callable[..., Any]:
        captured = ray.put(["captured"])

        def work(argument: Any) -> Any:
            return argument, ray.get(captured)

        return work

    made = _remote(ray, kind, captures())
    assert ray.get(made.remote(0), timeout=PATIENCE_S) == (0, ["captured"])
    argument, found = ray.get(made.remote([ray.put("nested")]), timeout=PATIENCE_S)
    assert found == ["captured"] and ray.get(argument[0], timeout=PATIENCE_S) == "nested"
