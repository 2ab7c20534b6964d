"""The registry of differential cases.

A case is a small program that takes the runtime's module (`ray` or `eagleray`) and prints the same text whenever it
runs: no ids, process ids, times or addresses. Cases that name the same `init` keywords may share one session.
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
CaseFunction = Callable[[Any], None]

#: What a case gets that does not say otherwise: more logical CPUs than small machines have, a namespace, no echo.
DEFAULT_INIT: Mapping[str, Any] = {"num_cpus": 4, "namespace": "compat", "log_to_driver": False}
#: The same with declared GPUs, which no machine needs to have.
GPU_INIT: Mapping[str, Any] = {**DEFAULT_INIT, "num_gpus": 4}

#: The same with labels of the node, of which one replaces one that nodes may have by themselves.
LABEL_INIT: Mapping[str, Any] = {
    **DEFAULT_INIT,
    "resources": {"disk": 2},
    "labels": {"zone": "a", "tier": "x", "empty": "", "ray.io/market-type": "on-demand"},
}


@dataclass(frozen=True)
class Case:
    """One differential case. `init` is None when the case starts and stops its own sessions."""

    name: str
    theme: str
    func: CaseFunction
    init: Mapping[str, Any] | None


CASES: dict[str, Case] = {}


def _register(func: CaseFunction, init: Mapping[str, Any] | None) -> CaseFunction:
    theme = func.__module__.rpartition(".")[2]
    name = f"{theme}.{func.__name__}"
    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    CASES[name] = Case(name, theme, func, init)
    return func


def case(func: CaseFunction) -> CaseFunction:
    """Registers a case that runs in a default session."""
    return _register(func, DEFAULT_INIT)


def gpu_case(func: CaseFunction) -> CaseFunction:
    """Registers a case that runs in a session with four declared GPUs."""
    return _register(func, GPU_INIT)


def label_case(func: CaseFunction) -> CaseFunction:
    """Registers a case that runs in a session whose node has labels."""
    return _register(func, LABEL_INIT)


def own_session(func: CaseFunction) -> CaseFunction:
    """Registers a case that calls `init` and `shutdown` itself."""
    return _register(func, None)


def load() -> dict[str, Case]:
    """Imports every theme and returns all cases, in the order of themes and of their source."""
    package = importlib.import_module("cases")
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
        importlib.import_module(f"cases.{module.name}")
    return CASES


def outcome(call: Callable[[], Any]) -> str:
    """The repr of what `call` returns, or the name of the exception type that it raises."""
    try:
        return repr(call())
    except Exception as error:
        return f"raises {type(error).__name__}"


def attempt(label: str, call: Callable[[], Any]) -> None:
    """Prints the outcome of a call whose result is deterministic."""
    print(f"{label}: {outcome(call)}")


def accepts(label: str, call: Callable[[], Any]) -> None:
    """Prints whether a call is accepted, without its result."""
    try:
        call()
        print(f"{label}: ok")
    except Exception as error:
        print(f"{label}: raises {type(error).__name__}")


def readings(read: Callable[[], T], seconds: float = 20.0) -> Iterator[T]:
    """Reads again and again, for values that a runtime may publish a moment late, until the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        yield read()
        if time.monotonic() > deadline:
            return
        time.sleep(0.02)


def eventually(read: Callable[[], T], wanted: T) -> T:
    """Waits until `read` gives what is wanted; returns the last value read."""
    value = wanted
    for value in readings(read):
        if value == wanted:
            break
    return value
