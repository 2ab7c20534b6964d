"""The submitter: the code behind ``.remote`` of functions and of actors' methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pickle import dumps
from typing import Any, NamedTuple

from eagleray._private.calls import flow, tracing
from eagleray._private.calls.arguments import EMPTY, SIMPLE, encode_args
from eagleray._private.calls.signatures import CallShape
from eagleray._private.calls.templates import Template
from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process
from eagleray._private.values.formats import ARGS


class Target(NamedTuple):
    """The target of calls in one session, in one placement group or in none.

    Attributes:
        template: The core's template. The submitter holds it for as long as it may make calls.
        results: How the results travel.
        captured: The references that the function captured, which every call holds; None if there are none.
    """

    template: Template
    results: flow.Results
    captured: tuple[Any, ...] | None = None


def submitter(
    name: str, shape: CallShape, resolve: Callable[[], Target], actor: Any = None, others: Sequence[CallShape] = ()
) -> Callable[..., Any]:
    """Makes the function behind ``.remote``. Its closure has everything that does not change between calls.

    Args:
        name: The name of the function or method in messages.
        shape: The signature of the calls.
        resolve: Finds the target in the session that runs. It is called once in each session, and again when the
            process works in another placement group.
        actor: The core's part of the actor's handle, None for functions.
        others: Further signatures that the arguments must fit, of alternative functions.
    """
    least = max(shape.least, *(other.least for other in others)) if others else shape.least
    most = min(shape.most, *(other.most for other in others)) if others else shape.most
    here = process
    mark = -1
    template = 0
    submit: Any = None
    held: Template | None = None
    captured: tuple[Any, ...] | None = None

    def define() -> None:
        nonlocal mark, template, submit, captured, held
        target = resolve()
        held, captured = target.template, target.captured
        template = held.number
        submit = _returning(target.results, here.require().hot)
        mark = here.mark

    def remote(*args: Any, **kwargs: Any) -> Any:
        if here.mark != mark:
            define()
        count = len(args)
        if kwargs or count < least or count > most:
            shape.check(args, kwargs)
            for other in others:
                other.check(args, kwargs)
        try:
            if not kwargs:
                if not count:
                    return submit(actor, template, ARGS, EMPTY, None, None, captured)
                for value in args:
                    if type(value) not in SIMPLE:
                        break
                else:
                    return submit(actor, template, ARGS, dumps((args, kwargs), 5), None, None, captured)
            if captured is None:
                return submit(actor, template, *encode_args(args, kwargs, shape, name))
            *encoded, nested = encode_args(args, kwargs, shape, name)
            return submit(actor, template, *encoded, captured + (nested or ()))
        except HotError as error:
            raise explain(error) from None

    return tracing.around(remote, tracing.CALLED, tracing.RETURNED) if tracing.ON else remote


def _returning(results: flow.Results, hot: Any) -> Callable[..., Any]:
    """Returns the core's ``submit`` with the program's result: a reference, a list of references, or a generator."""
    submit: Callable[..., Any] = hot.submit
    if results.streams_references:
        from eagleray._private.generators import reading  # imported here since most programs call no generators

        return reading(submit, hot)
    if results.number == 1:
        return submit

    def submit_many(*args: Any) -> Any:
        found = submit(*args)
        return None if found is None else list(found) if isinstance(found, tuple) else [found]

    return submit_many
