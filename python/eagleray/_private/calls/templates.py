"""Templates: the core keeps one for all calls of one function with one set of options, until nobody can call it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process

K = TypeVar("K", bound=Hashable)

#: How many templates without a holder are kept: a program may make the same options again and again.
KEPT = 500


class Template:
    """The core's number of a template. The core forgets the template when the last holder is gone."""

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
    """All templates that have a holder, and the latest ones without a holder, by their keys."""

    def __init__(self) -> None:
        self._all: weakref.WeakValueDictionary[K, Template] = weakref.WeakValueDictionary()
        self._latest: OrderedDict[K, Template] = OrderedDict()

    def obtain(self, session: Any, key: K, spec: Callable[[], bytes]) -> Template:
        """Returns the template for the key. It makes a new one if there is none.

        Args:
            session: The session in which it is defined.
            key: The function and the options of the template.
            spec: Makes the specification for the core.
        """
        found = self._all.get(key)
        if found is None:
            found = self._all[key] = define(session, spec())
        self._keep(key, found)
        return found

    def _keep(self, key: K, template: Template) -> None:
        self._latest[key] = template
        self._latest.move_to_end(key)
        if len(self._latest) > KEPT:
            self._latest.popitem(last=False)


def define(session: Any, spec: bytes) -> Template:
    """Has the core make a new template.

    Raises:
        Exception: the core refuses the specification.
    """
    try:
        return Template(session.hot.template(spec))
    except HotError as error:
        raise explain(error) from None
