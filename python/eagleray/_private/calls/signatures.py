"""Signatures of calls. Arguments are checked where ``.remote()`` is called, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_POSITIONAL_ONLY, _POSITIONAL, _VAR_POSITIONAL, _KEYWORD_ONLY, _VAR_KEYWORD = range(5)
_UNLIMITED = 1 << 30
_CO_VARARGS, _CO_VARKEYWORDS = 0x04, 0x08

#: One parameter: its name, its kind (the numbers of ``inspect.Parameter``), whether it has a default.
Param = tuple[str, int, bool]


class CallShape:
    """The parameters of a function or method, without ``self``.

    ``least`` and ``most`` bound the number of arguments of calls that need no closer look: calls with positional
    arguments only. They travel with actor handles, so the form is a plain list and ``inspect`` stays out of the way
    until a call does not fit.
    """

    __slots__ = ("_signature", "least", "most", "params")

    def __init__(self, params: Sequence[Param] | None) -> None:
        self.params: Sequence[Param] | None = params
        self._signature: Any = None
        self.least: int = 0
        self.most: int = _UNLIMITED
        if params is None:
            return
        kinds = [kind for _, kind, _ in params]
        if any(kind == _KEYWORD_ONLY and not default for _, kind, default in params):
            self.least = _UNLIMITED  # no call without keywords fits
        else:
            self.least = sum(kind <= _POSITIONAL and not default for _, kind, default in params)
        if _VAR_POSITIONAL not in kinds:
            self.most = sum(kind <= _POSITIONAL for kind in kinds)

    def check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raises the TypeError that a local call would, in the words of ``inspect.Signature.bind``."""
        if self.params is None:
            return
        if self._signature is None:
            import inspect

            kinds = list(inspect._ParameterKind)
            empty = inspect.Parameter.empty
            made = [
                inspect.Parameter(name, kinds[kind], default=None if default else empty)
                for name, kind, default in self.params
            ]
            self._signature = inspect.Signature(made)
        self._signature.bind(*args, **kwargs)

    def name_of(self, index: int) -> str:
        """Returns the name in messages of the positional argument at ``index``."""
        names = [name for name, kind, _ in self.params or () if kind <= _POSITIONAL]
        return f"argument {names[index]!r}" if index < len(names) else f"argument {index}"


def params_of(function: Callable[..., Any], *, bound: bool) -> list[Param] | None:
    """Returns the parameters of a function, without the first if it is ``bound``; None if they cannot be known."""
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function = inner
    code = getattr(function, "__code__", None)
    if code is None:
        return _inspected(function, bound)
    defaults = len(getattr(function, "__defaults__", None) or ())
    kwdefaults = getattr(function, "__kwdefaults__", None) or {}
    count, only, keyword = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_varnames
    params: list[Param] = []
    for index in range(count):
        params.append((names[index], _POSITIONAL_ONLY if index < only else _POSITIONAL, index >= count - defaults))
    rest = count + keyword
    if code.co_flags & _CO_VARARGS:
        params.append((names[rest], _VAR_POSITIONAL, False))
        rest += 1
    for name in names[count : count + keyword]:
        params.append((name, _KEYWORD_ONLY, name in kwdefaults))
    if code.co_flags & _CO_VARKEYWORDS:
        params.append((names[rest], _VAR_KEYWORD, False))
    return _drop_first(params) if bound else params


def _drop_first(params: list[Param]) -> list[Param]:
    return params[1:] if params and params[0][1] <= _POSITIONAL else params


def _inspected(function: Callable[..., Any], bound: bool) -> list[Param] | None:
    import inspect

    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built in, without a signature
        return None
    params = [(param.name, int(param.kind), param.default is not param.empty) for param in found]
    return _drop_first(params) if bound else params
