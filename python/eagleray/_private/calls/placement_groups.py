"""Placement groups: what a handle knows, the checks of bundles, and the requests to the head."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from eagleray._private.calls.control import rpc
from eagleray._private.calls.labels import selector_error
from eagleray._private.calls.resources import (
    GPU_MEMORY,
    check_devices,
    check_name_length,
    check_quantity,
    from_units,
    to_units,
)
from eagleray._private.hot_error import HotError, explain
from eagleray._private.ids import PlacementGroupID
from eagleray._private.sizes import parse_bytes
from eagleray._private.state import Session, process
from eagleray.exceptions import PlacementGroupUnschedulableError, RaySystemError, TaskPlacementGroupRemoved

STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
#: How long one request waits for a group. A control call does not see Ctrl-C, so a long wait is made of several.
_SLICE_MS = 500
_ANSWER_MS = 30_000
_STORE_MEMORY = "object_store_memory"
#: The name that Ray gives to a resource of its own in each bundle.
_RESERVED = "bundle"


class GroupHandle:
    """What a handle to a placement group knows without running tasks.

    Attributes:
        id: The group; the nil id of a handle that names no group.
        bundle_cache: The bundles, or None before they were asked for.
    """

    def __init__(self, id: PlacementGroupID, bundle_cache: list[dict[str, Any]] | None = None) -> None:
        self.id: PlacementGroupID = id
        self.bundle_cache: list[dict[str, Any]] | None = bundle_cache
        self._shapes: list[dict[str, int]] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the handle names no group."""
        return self.id.is_nil()

    @property
    def bundle_specs(self) -> list[dict[str, Any]]:
        """What each bundle sets aside, in the order in which the bundles were given: ``[{"CPU": 2.0}, …]``.

        Raises:
            ValueError: there is no such group.
        """
        if self.bundle_cache is None:
            found = None if self.is_empty else fetch(process.require(), self.id.binary())
            if found is None:
                raise ValueError(f"there is no placement group {self.id.hex()}: its bundles are not known")
            self.bundle_cache = [from_units(bundle["res"]) for bundle in found["bundles"]]
        return self.bundle_cache

    @property
    def bundle_count(self) -> int:
        """The number of bundles."""
        return len(self.bundle_specs)

    def shapes(self) -> list[dict[str, int]]:
        """The bundles that differ, in the integer units of requests."""
        if self._shapes is None:
            found = {tuple(to_units(bundle).items()): None for bundle in self.bundle_specs}
            self._shapes = [dict(shape) for shape in found]
        return self._shapes

    def wait(self, timeout_seconds: float = 30) -> bool:
        """Waits until all bundles have their nodes.

        Args:
            timeout_seconds: How long to wait at most; 0 only looks.

        Returns:
            Whether the group has its nodes. False means that the time is over.

        Raises:
            PlacementGroupUnschedulableError: the nodes of the cluster can never have the bundles.
            TaskPlacementGroupRemoved: the group was removed.
            ValueError: there is no such group.
        """
        if isinstance(timeout_seconds, bool) or not isinstance(timeout_seconds, (int, float)):
            raise TypeError(f"timeout_seconds must be a number of seconds, got {timeout_seconds!r}")
        return await_placed(process.require(), self.id.binary(), timeout_seconds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupHandle) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id.hex()})"

    def __reduce__(self) -> Any:
        return type(self), (self.id, self.bundle_cache)


def check_strategy(strategy: Any) -> None:
    """Raises ValueError for a strategy that groups do not have."""
    if strategy not in STRATEGIES:
        raise ValueError(f"Invalid placement group strategy {strategy!r}: it must be one of {', '.join(STRATEGIES)}")


def check_bundles(bundles: Any) -> None:
    """Checks the bundles of a new group.

    Raises:
        ValueError: they are no list of dictionaries with names and amounts, or no node could give an amount.
    """
    if not isinstance(bundles, list):
        raise ValueError(f"Placement group bundles must be a list, got {type(bundles).__name__}: {bundles!r}")
    if not bundles:
        raise ValueError("Placement group bundles are an empty list: name one at least, as [{'CPU': 1}, {'GPU': 1}]")
    for index, bundle in enumerate(bundles):
        _check_bundle(f"bundles[{index}]", bundle)


def _check_bundle(where: str, bundle: Any) -> None:
    if not isinstance(bundle, dict) or not all(
        isinstance(name, str) and name and _is_amount(name, value) for name, value in bundle.items()
    ):
        raise ValueError(
            f"{where} must be a dictionary with names of resources and amounts, as {{'CPU': 1}}; got {bundle!r}"
        )
    if not any(bundle.values()):
        raise ValueError(f"{where} asks for nothing: at least one amount must be above 0; got {bundle!r}")
    if _STORE_MEMORY in bundle:
        warnings.warn(
            f"{where}: {_STORE_MEMORY!r} has no effect, since objects share the store of their node: leave it out",
            DeprecationWarning,
            stacklevel=5,
        )
    if _RESERVED in bundle:
        raise ValueError(f"{where}: the name {_RESERVED!r} is reserved, it cannot be a resource of a bundle")
    amounts = _amounts(bundle)
    for name, value in amounts.items():
        check_name_length("the name of a resource", name)
        check_quantity(name, value)
    if not any(amounts.values()):
        raise ValueError(f"{where} asks for nothing but {_STORE_MEMORY!r}, which cannot be set aside")
    try:
        check_devices(amounts)
    except ValueError as problem:
        raise ValueError(f"{where}: {problem}") from None


def _is_amount(name: str, value: Any) -> bool:
    if name == GPU_MEMORY and isinstance(value, str):
        return True
    return isinstance(value, (int, float))


def _amounts(bundle: Mapping[str, Any]) -> dict[str, float]:
    """What a bundle sets aside, with sizes of GPU memory in bytes."""
    return {
        name: parse_bytes(name, value) if isinstance(value, str) else value
        for name, value in bundle.items()
        if name != _STORE_MEMORY
    }


def check_labels(selectors: Any, bundles: Sequence[Any]) -> None:
    """Checks which labels the bundles' nodes are to have.

    Raises:
        ValueError: it is no list with a dictionary of texts for each bundle.
    """
    if selectors is None:
        return
    if not isinstance(selectors, list):
        raise ValueError(f"bundle_label_selector must be a list of dictionaries, got {selectors!r}")
    if len(selectors) != len(bundles):
        raise ValueError(
            f"bundle_label_selector has {len(selectors)} entries for {len(bundles)} bundles: it must have one for each"
        )
    for index, selector in enumerate(selectors):
        if not isinstance(selector, dict) or not all(
            isinstance(key, str) and isinstance(value, str) for key, value in selector.items()
        ):
            raise ValueError(
                f"bundle_label_selector[{index}] must be a dictionary of texts, as {{'zone': 'a'}}; got {selector!r}"
            )
        wrong = selector_error(selector)
        if wrong is not None:
            raise ValueError(f"bundle_label_selector[{index}]: {wrong}")


def as_set_aside(bundles: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Bundles as the head keeps them: amounts above 0, sizes in bytes."""
    return [from_units(to_units(_amounts(bundle))) for bundle in bundles]


def create(
    session: Session,
    bundles: Sequence[Mapping[str, Any]],
    strategy: str,
    name: str,
    detached: bool,
    selectors: Sequence[Mapping[str, str]] | None,
) -> PlacementGroupID:
    """Has the head make a group, whose arguments were checked; returns when the head has its record."""
    labels = selectors or [{}] * len(bundles)
    body = {
        "bundles": [
            {"res": to_units(_amounts(bundle)), "labels": dict(wanted)}
            for bundle, wanted in zip(bundles, labels, strict=True)
        ],
        "strategy": strategy,
        "name": name,
        "namespace": session.namespace,
        "detached": detached,
        "waits": session.wait,
    }
    try:
        return PlacementGroupID(rpc(session, "group_create", body)["group_id"])
    except HotError as error:
        if error.code == "already_exists":
            raise RaySystemError(
                f"The placement group name {name!r} (namespace={session.namespace!r}) is already taken: use another "
                f"name, or get the group with get_placement_group({name!r})"
            ) from None
        raise explain(error) from None


def await_placed(session: Session, group_id: bytes, seconds: float) -> bool:
    """Waits until a group has its nodes; see ``GroupHandle.wait``."""
    end = time.monotonic() + seconds
    while True:
        left = max(0.0, (end - time.monotonic()) * 1000)
        ms = _SLICE_MS if left >= _SLICE_MS else math.ceil(left)
        body = {"group_id": group_id, "seen": "", "timeout_ms": ms}
        answer = _call(session, "group_wait", body, ms + _ANSWER_MS)
        if answer["state"] == "CREATED":
            return True
        if answer["state"] == "REMOVED":
            raise TaskPlacementGroupRemoved(
                f"placement group {group_id.hex()} was removed" + (answer["message"] and f": {answer['message']}")
            )
        if answer["state"] == "INFEASIBLE":
            raise PlacementGroupUnschedulableError(answer["message"])
        if left <= ms:
            return False


def remove(session: Session, group_id: bytes) -> None:
    """Ends a group. One that was removed before, or that nobody knows, is left alone."""
    try:
        rpc(session, "group_remove", {"group_id": group_id})
    except HotError as error:
        if error.code != "not_found":
            raise explain(error) from None


def fetch(session: Session, group_id: bytes) -> dict[str, Any] | None:
    """The head's record of a group, also of a removed one; None when there is no such group."""
    found: dict[str, Any] | None = _call(session, "group_get", {"group_id": group_id})
    return found


def fetch_named(session: Session, name: str, namespace: str | None = None) -> dict[str, Any] | None:
    """The record of the group with a name, in the session's namespace if none is given; None if there is no group."""
    where = session.namespace if namespace is None else namespace
    found: dict[str, Any] | None = _call(session, "group_by_name", {"name": name, "namespace": where})
    return found


def fetch_all(session: Session) -> list[dict[str, Any]]:
    """The records of all groups, removed ones too."""
    found: list[dict[str, Any]] = _call(session, "groups", {}) or []
    return found


def _call(session: Session, method: str, body: Mapping[str, Any], timeout_ms: int = -1) -> Any:
    try:
        return rpc(session, method, body, timeout_ms)
    except HotError as error:
        raise explain(error) from None
