"""The ARGS envelope: what a call takes with it, and how the executor gets it back."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, NoReturn

import msgpack
from eagleray._private import pickling
from eagleray._private.serialization import (
    ARGS,
    ARGS_MSGPACK,
    ARGS_REFS,
    ERROR,
    FAULT,
    NONE,
    Buffers,
    Triple,
    decode,
    raise_unserializable,
)
from eagleray._private.signatures import CallShape
from eagleray.exceptions import RayError, RaySystemError

#: The arguments of a call without any.
EMPTY = pickle.dumps(((), {}), 5)
#: Arguments of these exact types are pickled with no further look. (``bytes`` are not among them: they may be large.)
SIMPLE = frozenset({int, float, str, bool, type(None)})

EncodedArgs = tuple[int, bytes, Buffers, tuple[Any, ...] | None, tuple[Any, ...] | None]


class ArgumentFailed(Exception):
    """A reference among the arguments holds an error instead of a value."""

    def __init__(self, error: RayError) -> None:
        super().__init__(str(error))
        self.error = error


def encode_args(args: tuple[Any, ...], kwargs: dict[str, Any], shape: CallShape, what: str) -> EncodedArgs:
    """The envelope of a call's arguments.

    References at the top level become dependencies: the executor sees their values. References deeper inside go along
    as references.

    Args:
        args: Positional arguments.
        kwargs: Keyword arguments.
        shape: For the names of arguments in messages.
        what: The function or method, for messages.

    Returns:
        ``(fmt, meta, buffers, deps, nested)`` as ``submit`` takes them.
    """
    from eagleray._private.refs import ObjectRef

    deps: list[Any] = []
    slots: list[int | str] = []
    payload: tuple[Any, ...] = (args, kwargs)
    if any(isinstance(value, ObjectRef) for value in (*args, *kwargs.values())):
        positional = list(args)
        keyword = dict(kwargs)
        for index, value in enumerate(args):
            if isinstance(value, ObjectRef):
                deps.append(value)
                slots.append(index)
                positional[index] = None
        for name, value in kwargs.items():
            if isinstance(value, ObjectRef):
                deps.append(value)
                slots.append(name)
                keyword[name] = None
        payload = (tuple(positional), keyword, slots)
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
    """The positional and keyword arguments of a call.

    Raises:
        ArgumentFailed: a dependency holds an error.
        RaySystemError: something cannot be unpickled here.
    """
    if fmt == ARGS or fmt == ARGS_REFS:
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
        try:
            value = decode(triple)
        except Exception as problem:
            raise _unloadable(problem) from problem
        if triple[0] in (ERROR, FAULT):
            raise ArgumentFailed(value)
        if isinstance(slot, str):
            keyword[slot] = value
        else:
            args[slot] = value
    return args, keyword
