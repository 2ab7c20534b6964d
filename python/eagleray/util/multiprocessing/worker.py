"""What runs in the processes of a pool: the actor, and how its results and exceptions come back."""

from __future__ import annotations

import functools
import pickle
import sys
import traceback
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import cloudpickle

from eagleray._private.values import pickling

#: A function as the pool sends it: pickled once for all chunks, or itself when references are inside.
Code = Any
#: The results of a chunk: a list of the values, or this with the failures by their places in the list.
Failures = tuple[list[Any], dict[int, "Failure"]]
_MAX_KNOWN = 16


class Failure:
    """An exception on its way to the program.

    Args:
        error: The exception, as raised by the function of the user.
    """

    def __init__(self, error: Exception) -> None:
        self.text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        try:
            self.data = cloudpickle.dumps(error)
            pickle.loads(self.data)
        except Exception as problem:
            text = f"{type(error).__name__}: {error}"
            why = f"{type(problem).__name__}: {problem}"
            self.data = pickle.dumps(RuntimeError(f"{text} (this exception cannot be pickled: {why})"))

    def error(self) -> Exception:
        """The exception as its own class; its cause shows the traceback from the worker."""
        from multiprocessing.pool import RemoteTraceback  # type: ignore[attr-defined]

        found: Exception = pickle.loads(self.data)
        found.__cause__ = RemoteTraceback(f'\n"""\n{self.text}"""')
        return found


def ship(func: Callable[..., Any]) -> Code:
    """Pickles a function for all chunks of a call. A function with references or arrays inside goes as it is."""
    data, buffers, nested, table = pickling.dumps(func)
    return func if buffers or nested or table else data


def _plain(func: Any) -> FunctionType | None:
    """The function inside a partial or a bound method."""
    while isinstance(func, functools.partial):
        func = func.func
    func = getattr(func, "__func__", func)
    return func if isinstance(func, FunctionType) else None


def _own_globals(func: Any) -> dict[str, Any] | None:
    """The global names of a function that came by value and so has a copy of its module's names, else None."""
    found = _plain(func)
    if found is None:
        return None
    module = sys.modules.get(found.__module__)
    return None if module is not None and found.__globals__ is vars(module) else found.__globals__


class PoolActor:
    """One process of a pool.

    Args:
        initializer: Is called first, if any.
        initargs: Its arguments.
    """

    def __init__(self, initializer: Callable[..., object] | None = None, initargs: Iterable[Any] = ()) -> None:
        self._known: dict[bytes, Callable[..., Any]] = {}
        #: The module of the initializer and the global names that it has set, for functions of the same module.
        self._module: str | None = None
        self._set: dict[str, Any] = {}
        if initializer is None:
            return
        names = _own_globals(initializer)
        before = dict(names or {})
        initializer(*initargs)
        if names is not None:
            self._module = initializer.__module__
            absent = object()
            self._set = {name: value for name, value in names.items() if before.get(name, absent) is not value}

    def _load(self, code: Code) -> Callable[..., Any]:
        if type(code) is not bytes:
            return self._prepare(code)
        func = self._known.get(code)
        if func is None:
            func = self._prepare(pickling.loads_plain(code))
            if type(func) is FunctionType:  # other objects may have a state, and each chunk gets its own
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[code] = func
        return func

    def _prepare(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Lets a function see what the initializer has set in the names of their module."""
        if self._set and func.__module__ == self._module:
            names = _own_globals(func)
            if names is not None:
                names.update(self._set)
        return func

    def run(self, code: Code, items: Iterable[Any]) -> list[Any] | Failures:
        """Calls the function with each item."""
        func = self._load(code)
        results: list[Any] = []
        failures: dict[int, Failure] = {}
        add = results.append
        for item in items:
            try:
                add(func(item))
            except Exception as error:
                failures[len(results)] = Failure(error)
                add(None)
        return (results, failures) if failures else results

    def run_star(self, code: Code, items: Iterable[Iterable[Any]]) -> list[Any] | Failures:
        """Calls the function with the arguments that each item has."""
        func = self._load(code)
        return self.run(lambda item: func(*item), items)

    def run_call(self, code: Code, args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any] | Failures:
        """Calls the function once."""
        func = self._load(code)
        return self.run(lambda _: func(*args, **kwargs), (None,))
