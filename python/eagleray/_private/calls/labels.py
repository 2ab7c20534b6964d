"""What a task or an actor asks of the labels of its node: the checks of selectors, and their form in the core."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_WORD = "[a-zA-Z0-9](?:[-_.a-zA-Z0-9]{0,61}[a-zA-Z0-9])?"
_NAME = re.compile(_WORD)
_PREFIX = re.compile("[a-zA-Z0-9](?:[-_.a-zA-Z0-9]{0,251}[a-zA-Z0-9])?")
_SELECTOR = re.compile(rf"!?(?:in\({_WORD}(?:, ?{_WORD})*\)|{_WORD})")
_FORM = "letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
#: What stands before the labels in a scheduling strategy of the core.
_MARK = " labels:"
#: The core's limits.
_MOST_ALTERNATIVES = 100
_MOST_BYTES = 16 << 10

#: A condition of each name, of which all must hold.
Selector = Mapping[str, str]


def name_error(name: str) -> str | None:
    """What is wrong with the name of a label, None if it is one."""
    prefix, slash, word = name.rpartition("/")
    if slash and not _PREFIX.fullmatch(prefix):
        return f"Invalid label key prefix `{prefix}`. It must have at most 253 {_FORM}"
    if not _NAME.fullmatch(word):
        return f"Invalid label key name `{word}`. It must have at most 63 characters: {_FORM}"
    return None


def value_error(value: str) -> str | None:
    """What is wrong with the value of a label, None if it is one."""
    if value and not _NAME.fullmatch(value):
        return f"Invalid label key value `{value}`. It must have at most 63 characters: {_FORM}"
    return None


def selector_error(selector: Selector) -> str | None:
    """What is wrong with a selector whose names and conditions are texts, None if it is one."""
    for name, condition in selector.items():
        wrong = name_error(name)
        if wrong is None and condition and not _SELECTOR.fullmatch(condition):
            wrong = (
                f"Invalid label selector value `{condition}`. It must be a value, in(a,b), or one of both with ! "
                f"in front of it. A value has at most 63 characters: {_FORM}"
            )
        if wrong is not None:
            return wrong
    return None


def check_node(labels: Mapping[str, str]) -> None:
    """Raises ValueError if a node cannot be given these labels."""
    for name, value in labels.items():
        wrong = name_error(name) or value_error(value)
        if wrong is not None:
            raise ValueError(f"labels: {wrong}")
        if name == "ray.io/node-id":
            raise ValueError("labels: ray.io/node-id is reserved: each node has it with its own id")


def check_selector(name: str, value: Any) -> None:
    """Raises if ``label_selector=`` is no selector; ``name`` is what messages call it."""
    for label, condition in value.items():
        if not isinstance(label, str):
            raise TypeError(f"{name}: the name of a label must be a text, got {label!r}")
        if condition is None:
            raise ValueError(f"{name}: the condition of {label!r} must be a text, got None")
        if not isinstance(condition, str):
            raise TypeError(f"{name}: the condition of {label!r} must be a text, got {condition!r}")
    wrong = selector_error(value)
    if wrong is not None:
        raise ValueError(f"{name}: {wrong}")


def check_fallback(name: str, value: Any) -> None:
    """Raises if ``fallback_strategy=`` is wrong."""
    if len(value) >= _MOST_ALTERNATIVES:
        raise ValueError(f"{name} takes at most {_MOST_ALTERNATIVES - 1} alternatives, got {len(value)}")
    for index, entry in enumerate(value):
        where = f"{name}[{index}]"
        if not isinstance(entry, dict):
            raise ValueError(f"{where}: Each element in fallback_strategy must be a dictionary, got {entry!r}")
        if not entry:
            raise ValueError(f"{where}: Empty dictionary found in `fallback_strategy`: give it 'label_selector'")
        for option in entry:
            if option != "label_selector":
                raise ValueError(
                    f"{where}: Unsupported option found: {option!r}. Only 'label_selector' is supported; 'fallback' "
                    "lists other resources"
                )
        selector = entry["label_selector"]
        if not selector:
            continue
        if not isinstance(selector, dict):
            raise ValueError(f'{where}: The value of "label_selector" must be a dictionary, got {selector!r}')
        check_selector(f"{where}['label_selector']", selector)


def is_strategy(value: Any) -> bool:
    """Whether a scheduling strategy is a ``NodeLabelSchedulingStrategy``."""
    return hasattr(value, "hard") and hasattr(value, "soft")


def check_strategy(name: str, value: Any) -> None:
    """Raises ValueError if a ``NodeLabelSchedulingStrategy`` names what no label can be."""
    for expression in (*value.hard, *value.soft):
        wrong = name_error(expression.key)
        for text in getattr(expression.operator, "values", ()):
            if wrong is None and not _NAME.fullmatch(text):
                wrong = f"Invalid label key value `{text}`. It must have 1 to 63 characters: {_FORM}"
        if wrong is not None:
            raise ValueError(f"{name}: NodeLabelSchedulingStrategy: {wrong}")


def _conditions(expressions: Sequence[Any]) -> list[Selector]:
    return [{expression.key: expression.operator.condition} for expression in expressions]


def selector_of(strategy: str) -> dict[str, str] | None:
    """Returns the first selector of a scheduling strategy of the core; None: it has none, or one in another form."""
    _, _, text = strategy.partition(_MARK)
    wish = json.loads(text)[0] if text else []
    return dict(wish[0]) if len(wish) == 1 and "*" not in "".join(wish[0].values()) else None


def suffix_of(options: Mapping[str, Any], what: str) -> str:
    """Returns what the options ask of labels, as it stands behind a scheduling strategy of the core; "" for nothing.

    Args:
        options: The options in force.
        what: The function or class, for messages.

    Raises:
        ValueError: it is too much.
    """
    strategy: Any = options.get("scheduling_strategy")
    by_labels = is_strategy(strategy)
    first = options.get("label_selector")
    if not first and not by_labels:
        return ""
    wishes: list[list[Selector]] = []
    for selector in (first, *(entry["label_selector"] for entry in options.get("fallback_strategy") or ())):
        wish: list[Selector] = [selector] if selector else []
        if by_labels:
            wish += _conditions(strategy.hard)
            if strategy.soft:
                wishes.append(wish + _conditions(strategy.soft))
        wishes.append(wish)
        if not wish:
            break  # every node does
    text = _MARK + json.dumps(wishes, separators=(",", ":"), sort_keys=True)
    if len(text) > _MOST_BYTES or len(wishes) > _MOST_ALTERNATIVES:
        raise ValueError(
            f"{what} asks too much of labels: {len(wishes)} alternatives with {len(text)} bytes, at most "
            f"{_MOST_ALTERNATIVES} with {_MOST_BYTES} bytes are allowed"
        )
    return text
