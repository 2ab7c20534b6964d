"""``request_resources``: what it accepts. What it does is shown in test_moving_heads.py."""

from __future__ import annotations

from typing import Any

import eagleray as ray
import pytest
from eagleray.autoscaler.sdk import request_resources

LABEL = "Invalid label selector provided in bundle_label_selectors list"


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"num_cpus": 1.5}, TypeError, "num_cpus should be of type int, got float"),
        ({"bundles": {"CPU": 1}}, TypeError, "bundles should be of type list, got dict"),
        ({"bundles": [1]}, TypeError, "each bundle should be a dict, got int"),
        ({"bundles": [{1: 1}]}, TypeError, "each bundle key should be str, got int"),
        ({"bundles": [{"CPU": "1"}]}, TypeError, "each bundle value should be a number"),
        ({"bundles": [{"CPU": True}]}, TypeError, "each bundle value should be a number"),
        ({"bundles": [{"CPU": -1}]}, ValueError, "a bundle has -1 of 'CPU'"),
        ({"bundles": [{"CPU": float("nan")}]}, ValueError, "a bundle has nan of 'CPU'"),
        ({"bundle_label_selectors": [{}]}, ValueError, "`bundles` must be provided"),
        ({"bundles": [{}], "bundle_label_selectors": []}, ValueError, "length equal to the number of bundles"),
        ({"bundles": [{}], "bundle_label_selectors": [3]}, ValueError, "list of string dictionary"),
        ({"bundles": [{}], "bundle_label_selectors": [{"a": 1}]}, ValueError, "list of string dictionary"),
        ({"bundles": [{}], "bundle_label_selectors": [{"-a": "b"}]}, ValueError, f"{LABEL}.*key name `-a`"),
        ({"bundles": [{}], "bundle_label_selectors": [{"a-/b": "b"}]}, ValueError, f"{LABEL}.*key prefix `a-`"),
        ({"bundles": [{}], "bundle_label_selectors": [{"a": "not(b)"}]}, ValueError, f"{LABEL}.*value `not\\(b\\)`"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_asked(arguments: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        request_resources(**arguments)


def test_a_session_is_needed() -> None:
    with pytest.raises(RuntimeError, match=r"needs a session: call ray.init\(\) first"):
        request_resources(num_cpus=1)


def test_one_machine_takes_it_and_too_much_is_refused() -> None:
    ray.init(num_cpus=1, log_to_driver=False)
    try:
        selectors = [{"ray.io/zone": "!in(a, b)", "a": "!b"}, {"a": ""}, {}]
        request_resources(num_cpus=2**20, bundles=[{"CPU": 0}, {"GPU": 0.5}, {}], bundle_label_selectors=selectors)
        request_resources()
        with pytest.raises(ValueError, match="wanted 1073741825 times"):
            request_resources(num_cpus=2**30 + 1)
        with pytest.raises(ValueError, match="at most 49152 are allowed"):
            request_resources(bundles=[{f"resource{i}": 1} for i in range(1500)])
    finally:
        ray.shutdown()


def test_other_parts_are_named() -> None:
    import eagleray.autoscaler.sdk as sdk

    with pytest.raises(AttributeError, match="no attribute"):
        sdk.no_such_name  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="the autoscaler"):
        from eagleray.autoscaler.sdk import create_or_update_cluster  # type: ignore[attr-defined] # noqa: F401
