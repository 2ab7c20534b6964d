"""What the session declares that most tests share."""

from __future__ import annotations

from typing import Any

#: What the shared session declares; no machine needs to have it.
SHARED: dict[str, Any] = {
    "num_cpus": 4,
    "num_gpus": 2,
    "resources": {"slot": 2},
    "namespace": "tests",
    "log_to_driver": False,
}
