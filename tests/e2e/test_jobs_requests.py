"""Requests to submit a job that are refused before anything of the job is there."""

from __future__ import annotations

import json

import pytest
from eagleray._private.jobs import requests


@pytest.mark.parametrize("name", ["é" * 101, "a" * 201, "a/b", "a b", "..", "a\x1b[2Jb", "a\x7f", "\ud800", "a\n"])
def test_ids_that_can_name_no_file(name: str) -> None:
    with pytest.raises(ValueError, match=r"submission_id .* must have 1 to 200 characters"):
        requests.read({"entrypoint": "true", "submission_id": name})


def test_ids_that_are_allowed() -> None:
    for name in ("é" * 100, "a" * 200, "nightly-1.2_x"):
        assert requests.read({"entrypoint": "true", "submission_id": name}).id == name


@pytest.mark.parametrize("amount", ["9" * 400, "1e300", "-1", "NaN", "Infinity"])
def test_amounts_that_nothing_has(amount: str) -> None:
    for name in ("entrypoint_num_cpus", "entrypoint_memory"):
        with pytest.raises(TypeError, match=f"{name} must be a number of at least 0 and at most"):
            requests.read(json.loads(f'{{"entrypoint": "true", "{name}": {amount}}}'))
