"""Asks the autoscaler of the cluster for room."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

from eagleray._private import missing
from eagleray._private.calls.control import rpc
from eagleray._private.calls.labels import selector_error
from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process

__all__ = ["request_resources"]

_UNIT = 10_000
_LARGEST = 2**63 // _UNIT - 1

#: One bundle: its resources in units, and its labels.
_Shape = tuple[frozenset[tuple[str, int]], frozenset[tuple[str, str]]]


def request_resources(
    num_cpus: int | None = None,
    bundles: list[dict[str, float]] | None = None,
    bundle_label_selectors: list[dict[str, str]] | None = None,
) -> None:
    """Says what the cluster is to have room for, whether that is in use or not.

    The request is kept in the cluster's state. It outlives the program, until the next call replaces it, and a call
    without arguments clears it. ``eagleray status`` shows it.

    Args:
        num_cpus: So many bundles of one CPU.
        bundles: Bundles of resources, each of which is to fit on a node.
        bundle_label_selectors: For each of ``bundles``, what the labels of its node have to be: label → value,
            ``!value``, ``in(a,b)`` or ``!in(a,b)``. An empty dictionary leaves it open.

    Raises:
        RuntimeError: The program has no session.
        TypeError: ``num_cpus`` is no int, ``bundles`` is no list of dictionaries, or one has a value that
            is no number.
        ValueError: ``bundle_label_selectors`` does not fit ``bundles``, a selector is none, or it is too much.
    """
    wanted = _counted(num_cpus, bundles, bundle_label_selectors)
    if process.session is None:
        raise RuntimeError("request_resources() needs a session: call ray.init() first")
    text = json.dumps(
        [
            {"count": n, "resources": dict(sorted(resources)), "labels": dict(sorted(labels))}
            for (resources, labels), n in wanted.items()
        ]
    )
    body = {"ns": "eagleray.demand", "key": b"request_resources", "value": text.encode(), "overwrite": True}
    try:
        rpc(process.session, "kv_put", body)
    except HotError as error:
        if error.code == "bad_request":
            raise ValueError(str(explain(error))) from None
        raise explain(error) from None


def _counted(num_cpus: Any, bundles: Any, selectors: Any) -> Counter[_Shape]:
    """Checks the arguments and counts equal bundles."""
    if num_cpus is not None and not isinstance(num_cpus, int):
        raise TypeError(f"num_cpus should be of type int, got {type(num_cpus).__name__}")
    if bundles is not None and not isinstance(bundles, list):
        raise TypeError(f"bundles should be of type list, got {type(bundles).__name__}")
    units = [_units(bundle) for bundle in bundles or []]
    if selectors is not None:
        if bundles is None:
            raise ValueError("`bundles` must be provided when `bundle_label_selectors` is specified.")
        if len(selectors) != len(bundles):
            raise ValueError(
                "`bundle_label_selectors` must be a list with length equal to the number of bundles: "
                f"it has {len(selectors)}, and there are {len(bundles)} bundles"
            )
        for selector in selectors:
            _check_selector(selector)
    wanted: Counter[_Shape] = Counter()
    if num_cpus and num_cpus > 0:
        wanted[frozenset({("CPU", _UNIT)}), frozenset()] = int(num_cpus)
    for i, bundle in enumerate(units):
        wanted[frozenset(bundle.items()), frozenset(selectors[i].items() if selectors else ())] += 1
    return wanted


def _units(bundle: Any) -> dict[str, int]:
    if not isinstance(bundle, dict):
        raise TypeError(f"each bundle should be a dict, got {type(bundle).__name__}")
    units = {}
    for name, value in bundle.items():
        if not isinstance(name, str):
            raise TypeError(f"each bundle key should be str, got {type(name).__name__}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(
                f"each bundle value should be a number (int or float), got {type(value).__name__} for {name!r}"
            )
        if not 0 <= value <= _LARGEST:
            raise ValueError(f"a bundle has {value} of {name!r}: must be 0 to {_LARGEST}")
        units[name] = round(value * _UNIT)
    return units


def _check_selector(selector: Any) -> None:
    words = isinstance(selector, dict) and all(isinstance(word, str) for item in selector.items() for word in item)
    if not words:
        raise ValueError(
            "Bundle label selector must be a list of string dictionary label selectors. For example: "
            f'`[{{"ray.io/market-type": "spot"}}, {{"ray.io/accelerator-type": "A100"}}]`. One of them is {selector!r}'
        )
    wrong = selector_error(selector)
    if wrong is not None:
        raise ValueError(f"Invalid label selector provided in bundle_label_selectors list. Detailed error: '{wrong}'")


def __getattr__(name: str) -> Any:
    raise missing.attribute(__name__, name, sys._getframe(1))
