"""What calls of one function with one set of options share: a number of the core's, until nobody can call it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process

K = TypeVar("K", bound=Hashable)

#: How many are kept that nobody holds: a program may make the same options again and again.
KEPT = 500


class Template:
    """The core's number of a template. With the last holder the core lets it go."""

    __slots__ = ("__weakref__", "_epoch", "number")

    def __init__(self, number: int) -> None:
        self.number: int = number
        self._epoch = process.epoch

    def __del__(self) -> None:
        try:
            if self._epoch == process.epoch and process.session is not None:
                process.session.hot.retire(self.number)
        except Exception:  # the interpreter, or the session, is ending
            pass


class Templates(Generic[K]):
    """Templates by what they were made of: all that live, and the latest ones for a while after."""

    def __init__(self) -> None:
        self._all: weakref.WeakValueDictionary[K, Template] = weakref.WeakValueDictionary()
        self._latest: OrderedDict[K, Template] = OrderedDict()

    def find(self, key: K) -> Template | None:
        """The one that was made of this, if it lives."""
        found = self._all.get(key)
        if found is not None:
            self._keep(key, found)
        return found

    def add(self, key: K, number: int) -> Template:
        """Notes what a new one was made of."""
        made = self._all[key] = Template(number)
        self._keep(key, made)
        return made

    def _keep(self, key: K, template: Template) -> None:
        self._latest[key] = template
        self._latest.move_to_end(key)
        if len(self._latest) > KEPT:
            self._latest.popitem(last=False)


def define(session: Any, spec: bytes) -> int:
    """The core's number for a new template.

    Raises:
        Exception: what the core says is wrong with it.
    """
    try:
        number: int = session.hot.template(spec)
        return number
    except HotError as error:
        raise explain(error) from None
