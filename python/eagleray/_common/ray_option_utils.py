"""The part of ``ray._common.ray_option_utils`` that programs use: the options of tasks and actors with their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagleray._private.calls import option_types
from eagleray._private.calls.options import TABLE
from eagleray._private.ray_constants import DEFAULT_TASK_MAX_RETRIES

_DEFAULTS: dict[str, Any] = {
    "max_calls": 0,
    "max_restarts": 0,
    "max_task_retries": 0,
    "max_pending_calls": -1,
    "placement_group": "default",
    "placement_group_bundle_index": -1,
    "retry_exceptions": False,
    "get_if_exists": False,
    "enable_task_events": True,
}
_TASK_DEFAULTS = {"max_retries": DEFAULT_TASK_MAX_RETRIES, "num_cpus": 1}
#: Options of which None says nothing, and that Ray's table does not accept as None.
_NEVER_NONE = ("placement_group_bundle_index", "retry_exceptions", "get_if_exists", "enable_task_events")


class Option:
    """One option.

    Attributes:
        type_constraint: The types of its values.
        default_value: Its value where none is given.
    """

    def __init__(self, name: str, option: option_types.Option, default_value: Any) -> None:
        self.type_constraint = option.types if name in _NEVER_NONE else (*option.types, type(None))
        self.default_value = default_value
        self._option = option

    def validate(self, keyword: str, value: Any) -> None:
        """Checks a value.

        Raises:
            TypeError: it has the wrong type.
            ValueError: it is not allowed.
        """
        if value is None and type(None) not in self.type_constraint:
            raise TypeError(f"the option {keyword!r} must not be None")
        if keyword == "placement_group" and value == "default":
            return
        option_types.check_type(keyword, self._option, value)


def _options(kind: str, defaults: Mapping[str, Any]) -> dict[str, Option]:
    return {
        name: Option(name, option, defaults.get(name))
        for name, option in TABLE.items()
        if kind in option.kinds and object not in option.types
    } | {name: Option(name, TABLE[name], defaults.get(name)) for name in ("placement_group", "scheduling_strategy")}


task_options = _options(option_types.TASK, {**_DEFAULTS, **_TASK_DEFAULTS})
actor_options = _options(option_types.ACTOR, _DEFAULTS)


def update_options(original_options: Mapping[str, Any], new_options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of both; where both have one, that of ``new_options``."""
    return {**original_options, **new_options}
