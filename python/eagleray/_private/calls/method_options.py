"""The options of an actor's method, from ``@method`` and from ``.options()`` of single calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagleray._private import suggestions
from eagleray._private.calls import actor_kind, flow, retrying
from eagleray._private.calls.actor_kind import GROUP, ActorKind, MethodKind
from eagleray._private.calls.option_types import check_type
from eagleray._private.calls.options import TABLE

#: The options of one call.
NAMES = (
    "num_returns",
    GROUP,
    "max_task_retries",
    "retry_exceptions",
    "name",
    "enable_task_events",
    flow.LIMIT,
    flow.EACH,
)
#: The options of the decorator. The name of a call is one of the call.
DECORATOR = tuple(name for name in NAMES if name != "name")

#: What Ray's libraries mark their calls with, for Ray's dashboard.
_LABELS = "_labels"


def of_call(options: Mapping[str, Any], kind: ActorKind, method: MethodKind) -> dict[str, Any]:
    """Checks the options of a method's calls and returns them as they travel.

    Args:
        options: What the user wrote.
        kind: The actor's class as its handles see it.
        method: The method.

    Raises:
        TypeError: no option has such a name, or a value has the wrong type.
        ValueError: a value is wrong.
    """
    if "tensor_transport" in options:
        _check_transport(f"{method.name}.options", options["tensor_transport"])
    if _LABELS in options:
        check_type(_LABELS, TABLE[_LABELS], options[_LABELS])
    options = {name: value for name, value in options.items() if name not in ("tensor_transport", _LABELS)}
    for name in options:
        if name not in NAMES:
            near = suggestions.suggestion(name, NAMES)
            raise TypeError(
                f"ActorMethod.options() got an unexpected keyword argument {name!r}{near}; it takes {', '.join(NAMES)}"
            )
        if name == flow.EACH:
            raise ValueError(f"{name} is not an option of a call: write it in the decorator, @method({name}=…)")
    found = dict(options)
    if kind.foreign and isinstance(found.get("retry_exceptions"), (list, tuple)):
        raise ValueError(
            f"retry_exceptions of {kind.class_name}.{method.name} lists classes of Python, and the method is in "
            "another language: give True, and mark errors that are not to be retried where they are made"
        )
    if "retry_exceptions" in found:
        found["retry_exceptions"] = retrying.pack_classes(found["retry_exceptions"])
    _check_values(found)
    full_name = f"{kind.class_name}.{method.name}"
    if found.get(GROUP):
        actor_kind.check_group(found[GROUP], kind.groups, full_name)
    else:
        found.pop(GROUP, None)  # the options of the method itself
    flow.check_returns(found.get("num_returns"), method.generator, full_name, 3)
    return found


def check_decorator(options: Mapping[str, Any]) -> None:
    """Checks the options of ``@method``.

    Raises:
        AssertionError: no option has such a name.
        TypeError: a value has the wrong type.
        ValueError: a value is wrong.
    """
    unknown = [name for name in options if name not in (*DECORATOR, "tensor_transport")]
    if unknown:
        raise AssertionError(
            f"@method takes {', '.join(DECORATOR)}; got {suggestions.with_suggestions(unknown, DECORATOR)}"
        )
    _check_transport("@method", options.get("tensor_transport"))
    count = options.get("num_returns")
    if isinstance(count, int) and count < 0:
        raise ValueError(f"The keyword 'num_returns' only accepts {flow.NUM_RETURNS}. Got {count}")
    retrying.check_classes(options.get("retry_exceptions"))
    _check_values(options)
    if not isinstance(options.get(GROUP, ""), (str, type(None))):
        raise TypeError(f"concurrency_group takes the name of a group, a text; got {options[GROUP]!r}")


def _check_transport(where: str, transport: Any) -> None:
    if transport is not None and str(transport).lower() != "object_store":
        raise ValueError(
            f"{where}(tensor_transport={transport!r}) is not supported: tensors go through the object store. Leave it "
            "out; eagleray.util.collective sends tensors between actors"
        )


def _check_values(options: Mapping[str, Any]) -> None:
    for name in ("num_returns", "max_task_retries", "name", "enable_task_events", flow.LIMIT, flow.EACH):
        if name in options:
            check_type(name, TABLE[name], options[name])
