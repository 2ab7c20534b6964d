"""The part of ``ray._raylet`` that libraries use: the classes of references and ids."""

from __future__ import annotations

import sys
from typing import Any

from eagleray._private import missing
from eagleray._private.generators import DynamicObjectRefGenerator as DynamicObjectRefGenerator
from eagleray._private.generators import ObjectRefGenerator as ObjectRefGenerator
from eagleray._private.ids import ActorClassID as ActorClassID
from eagleray._private.ids import ActorID as ActorID
from eagleray._private.ids import BaseID as BaseID
from eagleray._private.ids import ClusterID as ClusterID
from eagleray._private.ids import FunctionID as FunctionID
from eagleray._private.ids import JobID as JobID
from eagleray._private.ids import NodeID as NodeID
from eagleray._private.ids import PlacementGroupID as PlacementGroupID
from eagleray._private.ids import TaskID as TaskID
from eagleray._private.ids import UniqueID as UniqueID
from eagleray._private.ids import WorkerID as WorkerID
from eagleray._private.refs import ObjectID as ObjectID
from eagleray._private.refs import ObjectRef as ObjectRef
from eagleray._private.worker.sent import StreamingGeneratorStats as StreamingGeneratorStats
from eagleray.exceptions import ObjectRefStreamEndOfStreamError as ObjectRefStreamEndOfStreamError

#: Ray's old name for a generator of references.
StreamingObjectRefGenerator = ObjectRefGenerator

__all__ = [
    "ActorClassID",
    "ActorID",
    "BaseID",
    "ClusterID",
    "DynamicObjectRefGenerator",
    "FunctionID",
    "JobID",
    "NodeID",
    "ObjectID",
    "ObjectRef",
    "ObjectRefGenerator",
    "ObjectRefStreamEndOfStreamError",
    "PlacementGroupID",
    "StreamingGeneratorStats",
    "StreamingObjectRefGenerator",
    "TaskID",
    "UniqueID",
    "WorkerID",
]


def __getattr__(name: str) -> Any:
    raise missing.attribute(__name__, name, sys._getframe(1))
