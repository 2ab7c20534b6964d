"""Unpickling of classes whose ``__getattr__`` needs an attribute that an object has only once it is complete.

Pickle makes an empty object first and asks it for ``__setstate__``. A class that answers unknown names from an
attribute of its own (``starlette.datastructures.State`` does) then asks itself for that attribute without end. Here the
class is asked instead of the object. This unpickler is written in Python and slow; it is used where the fast one fails.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

_BUILD = pickle.BUILD[0]


#: Pickle's unpickler in Python. Its stack, load_build and dispatch are the same in all versions of Python 3.
_Python: Any = pickle._Unpickler


class _Unpickler(_Python):  # type: ignore[misc]
    dispatch: ClassVar[dict[int, Any]] = dict(_Python.dispatch)

    def load_build(self) -> None:
        """Sets the state of the object on top of the stack."""
        made = self.stack[-2]
        if isinstance(made, type) or hasattr(type(made), "__setstate__"):
            super().load_build()
            return
        state = self.stack.pop()
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            made.__dict__.update(state)
        for name, value in (slots or {}).items():
            object.__setattr__(made, name, value)

    dispatch[_BUILD] = load_build


def loads(data: Any, buffers: Any = ()) -> Any:
    """Returns the object in a pickle."""
    return _Unpickler(io.BytesIO(data), buffers=buffers or ()).load()
