"""What a worker sends to a generator that it runs, if the generator takes it: ``stats = yield value``."""

from __future__ import annotations

from opcode import opmap
from types import AsyncGeneratorType, CodeType, GeneratorType
from typing import Any, NamedTuple


class StreamingGeneratorStats(NamedTuple):
    """What a generator gets for an item that it has yielded.

    Attributes:
        object_creation_dur_s: Seconds that it took to make an object of the item, and to wait until the generator might
            go on.
    """

    object_creation_dur_s: float


_YIELD, _DROP = opmap["YIELD_VALUE"], opmap["POP_TOP"]
#: Instructions between a yield and what is done with its value.
_BETWEEN = frozenset({opmap.get("RESUME", -1), opmap.get("CACHE", -1)})
#: ``yield from``, which has an instruction of its own in Python 3.10.
_FROM = opmap.get("YIELD_FROM", -1)
_known: dict[CodeType, bool] = {}


def is_wanted(values: Any) -> bool:
    """Reports whether something is to be sent to what a call iterates over: it is a generator that uses it."""
    if type(values) is GeneratorType:
        return is_used(values.gi_code)
    return type(values) is AsyncGeneratorType and is_used(values.ag_code)


def is_used(code: CodeType) -> bool:
    """Reports whether a generator uses the value of a ``yield``, or yields from another generator.

    Most generators do not, and to send something to these would cost time for nothing.
    """
    found = _known.get(code)
    if found is None:
        found = _known[code] = _is_used(code)
    return found


def _is_used(code: CodeType) -> bool:
    steps = code.co_code
    for at in range(0, len(steps), 2):
        if steps[at] == _FROM:
            return True
        if steps[at] == _YIELD:
            after = at + 2
            while after < len(steps) and steps[after] in _BETWEEN:
                after += 2
            if after < len(steps) and steps[after] != _DROP:
                return True
    return False


def is_taken(values: GeneratorType[Any, Any, Any]) -> bool:
    """Reports whether something can be sent to a generator now. It may yield from an iterator that takes nothing."""
    inner: Any = values.gi_yieldfrom
    while isinstance(inner, GeneratorType):
        inner = inner.gi_yieldfrom
    return inner is None or hasattr(inner, "send")
