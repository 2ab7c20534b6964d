"""Small names that the libraries import from modules which eagleray has: types for annotations, marks, constants."""

from __future__ import annotations

from typing import Any

from eagleray.util.annotations import AnnotationType
from eagleray.util.annotations import PublicAPI as PublicAPI

#: Constants of ``ray._raylet``, without the beginning that most of Ray's have.
_CONSTANTS = {"NODE_ID_KEY": "ray.io/node-id", "INTERNAL_NAMESPACE_PREFIX": "_ray_internal_"}
#: Codes of gRPC: Tune compares those of errors with them.
_CODES = {"RESOURCE_EXHAUSTED": 8, "UNAVAILABLE": 14}
IN_RAYLET: dict[str, Any] = {
    **{f"RAY_{name}": value for name, value in _CONSTANTS.items()},
    **{f"GRPC_STATUS_CODE_{name}": value for name, value in _CODES.items()},
}

#: For annotations: what ``scheduling_strategy`` takes.
SchedulingStrategyT = Any


def mark_annotated(
    obj: Any, annotation_type: AnnotationType = AnnotationType.UNKNOWN, api_group: str = "Others"
) -> None:
    """Marks a class or function for documentation, as the decorators of ``util.annotations`` do."""
    if hasattr(obj, "__name__"):
        obj._annotated = obj.__name__
        obj._annotated_type = annotation_type
        obj._annotated_api_group = api_group


def valid_resource_shape(resources: dict[str, float], bundle_specs: list[dict[str, float]]) -> bool:
    """Whether one bundle of a placement group has all that ``resources`` asks for."""
    return any(all(bundle.get(name, 0) >= amount for name, amount in resources.items()) for bundle in bundle_specs)
