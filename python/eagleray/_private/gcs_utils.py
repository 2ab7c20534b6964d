"""The part of ``ray._private.gcs_utils`` that programs use: the states of actors, nodes and placement groups."""

from __future__ import annotations

import sys
from typing import Any

from eagleray._private import missing
from eagleray.core.generated._enumerations import COMMON, GCS

ActorTableData = GCS["ActorTableData"]
GcsNodeInfo = GCS["GcsNodeInfo"]
PlacementGroupTableData = GCS["PlacementGroupTableData"]
ErrorType = COMMON["ErrorType"]
WORKER = 0
DRIVER = 1


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing.attribute(__name__, name, sys._getframe(1))
