"""The ARGS envelope: encodes the arguments of a call, and decodes them in the executor."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

import msgpack

from eagleray._private.calls.signatures import CallShape
from eagleray._private.values import pickling
from eagleray._private.values.device_arrays import References
from eagleray._private.values.formats import ARGS, ARGS_MSGPACK, ARGS_REFS, ERRORS, NONE, Buffers, Triple
from eagleray._private.values.serialization import decode, raise_unserializable
from eagleray.exceptions import RayError, RaySystemError

#: The envelope of a call without arguments.
EMPTY = pickle.dumps(((), {}), 5)
#: Arguments of these exact types are pickled with no further look. (``bytes`` are not among them: they may be large.)
SIMPLE = frozenset({int, float, str, bool, type(None)})

#: How many envelopes are kept of calls whose arguments are all references.
_FORMS = 16

EncodedArgs = tuple[int, bytes, Buffers, tuple[Any, ...] | None, tuple[Any, ...] | None]


class ArgumentFailed(Exception):
    """An argument is a reference whose object is an error instead of a value."""

    def __init__(self, error: RayError) -> None:
        super().__init__(str(error))
        self.error = error


@lru_cache(_FORMS)
def only_references(count: int) -> bytes:
    """Returns the metadata of a call whose arguments are this number of references and nothing else."""
    return pickle.dumps(((None,) * count, {}, list(range(count))), 5) if count else EMPTY


def encode_args(args: tuple[Any, ...], kwargs: dict[str, Any], shape: CallShape, what: str) -> EncodedArgs:
    """Encodes the arguments of a call.

    References at the top level become dependencies: the executor sees their values. References deeper inside go along
    as references.

    Args:
        args: Positional arguments.
        kwargs: Keyword arguments.
        shape: The signature, which names arguments in messages.
        what: The function or method, for messages.

    Returns:
        ``(fmt, meta, buffers, deps, nested)`` as ``submit`` takes them.
    """
    reference = References.kind
    deps: list[Any] = []
    slots: list[int | str] = []
    positional, keyword = list(args), kwargs
    simple = True
    for index, value in enumerate(args):
        kind = type(value)
        if kind is reference:
            deps.append(value)
            slots.append(index)
            positional[index] = None
        elif kind not in SIMPLE:
            simple = False
    for name, value in kwargs.items():
        kind = type(value)
        if kind is reference:
            if keyword is kwargs:
                keyword = dict(kwargs)
            deps.append(value)
            slots.append(name)
            keyword[name] = None
        elif kind not in SIMPLE:
            simple = False
    if simple:
        if not kwargs and len(deps) == len(args):
            return ARGS, only_references(len(deps)), None, tuple(deps) or None, None
        plain = pickle.dumps((tuple(positional), keyword, slots) if deps else (args, kwargs), 5)
        return ARGS, plain, None, tuple(deps) or None, None
    payload = (tuple(positional), keyword, slots) if deps else (args, kwargs)
    try:
        data, buffers, nested, table = pickling.dumps(payload)
    except Exception as problem:
        _blame(args, kwargs, shape, what, problem)
    return ARGS_REFS if table else ARGS, data, buffers, tuple(deps) if deps else None, nested


def _blame(args: tuple[Any, ...], kwargs: dict[str, Any], shape: CallShape, what: str, problem: Exception) -> NoReturn:
    named = [(shape.name_of(index), value) for index, value in enumerate(args)]
    named += [(f"argument {name!r}", value) for name, value in kwargs.items()]
    for name, value in named:
        try:
            pickling.dumps(value)
        except Exception as found:
            raise_unserializable(value, f"{name} of {what}", found)
    raise_unserializable((args, kwargs), f"the arguments of {what}", problem)


def _unloadable(problem: Exception) -> RaySystemError:
    return RaySystemError(f"an argument cannot be unpickled here: {type(problem).__name__}: {problem}")


def decode_args(
    fmt: int, meta: bytes, buffers: Buffers, deps: Sequence[Triple] | None
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Decodes the positional and keyword arguments of a call.

    Raises:
        ArgumentFailed: a dependency holds an error.
        RaySystemError: something cannot be unpickled here.
    """
    if fmt == ARGS or fmt == ARGS_REFS:
        if deps is not None and meta == only_references(len(deps)):
            return [_value(triple) for triple in deps], {}
        try:
            found = pickling.loads(meta, buffers, fmt == ARGS_REFS)
        except Exception as problem:
            raise _unloadable(problem) from problem
        if deps is None:
            return found  # type: ignore[no-any-return]
        positional, keyword, slots = found
    elif fmt == ARGS_MSGPACK:
        positional, keyword, slots = msgpack.unpackb(meta, strict_map_key=False)
    elif fmt == NONE:
        return (), {}
    else:
        raise ValueError(f"format {fmt} is not one of arguments")
    args = list(positional)
    for slot, triple in zip(slots, deps or (), strict=True):
        value = _value(triple)
        if isinstance(slot, str):
            keyword[slot] = value
        else:
            args[slot] = value
    return args, keyword


def _value(triple: Triple) -> Any:
    try:
        value = decode(triple)
    except Exception as problem:
        raise _unloadable(problem) from problem
    if triple[0] in ERRORS:
        raise ArgumentFailed(value)
    return value
