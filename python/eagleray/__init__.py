"""Ray's Python API on a small, fast Go core.

``import eagleray as ray`` is all that a program needs. The import is light: the names below load their modules when
they are first used, and the Go core is loaded when a session starts or a reference is made, never before. That keeps
the processes that are to be forked (the zygote) free of Go threads.
"""

from __future__ import annotations

import importlib
import sys

from eagleray._private import hooks
from eagleray._version import __version__

TYPE_CHECKING = False  # importing typing for it would be half of this module's time
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from eagleray import actor as actor
    from eagleray import autoscaler as autoscaler
    from eagleray import cloudpickle as cloudpickle
    from eagleray import cross_language as cross_language
    from eagleray import exceptions as exceptions
    from eagleray import experimental as experimental
    from eagleray import internal as internal
    from eagleray import job_config as job_config
    from eagleray import kernels as kernels
    from eagleray import remote_function as remote_function
    from eagleray import runtime_context as runtime_context
    from eagleray import runtime_env as runtime_env
    from eagleray import types as types
    from eagleray import util as util
    from eagleray._private.generators import DynamicObjectRefGenerator as DynamicObjectRefGenerator
    from eagleray._private.generators import ObjectRefGenerator as ObjectRefGenerator
    from eagleray._private.ids import ActorClassID as ActorClassID
    from eagleray._private.ids import ActorID as ActorID
    from eagleray._private.ids import ClusterID as ClusterID
    from eagleray._private.ids import FunctionID as FunctionID
    from eagleray._private.ids import JobID as JobID
    from eagleray._private.ids import NodeID as NodeID
    from eagleray._private.ids import PlacementGroupID as PlacementGroupID
    from eagleray._private.ids import TaskID as TaskID
    from eagleray._private.ids import UniqueID as UniqueID
    from eagleray._private.ids import WorkerID as WorkerID
    from eagleray._private.job_logging import LoggingConfig as LoggingConfig
    from eagleray._private.outside.worker import SCRIPT_MODE as SCRIPT_MODE
    from eagleray._private.outside.worker import WORKER_MODE as WORKER_MODE
    from eagleray._private.refs import ObjectID as ObjectID
    from eagleray._private.refs import ObjectRef as ObjectRef
    from eagleray._private.session.api import available_resources as available_resources
    from eagleray._private.session.api import cancel as cancel
    from eagleray._private.session.api import cluster_resources as cluster_resources
    from eagleray._private.session.api import get as get
    from eagleray._private.session.api import get_actor as get_actor
    from eagleray._private.session.api import get_gpu_ids as get_gpu_ids
    from eagleray._private.session.api import kill as kill
    from eagleray._private.session.api import nodes as nodes
    from eagleray._private.session.api import put as put
    from eagleray._private.session.api import wait as wait
    from eagleray._private.session.decorator import remote as remote
    from eagleray._private.session.driver import init as init
    from eagleray._private.session.driver import is_initialized as is_initialized
    from eagleray._private.session.driver import shutdown as shutdown
    from eagleray._private.tools.timeline import timeline as timeline
    from eagleray.actor import method as method
    from eagleray.runtime_context import get_runtime_context as get_runtime_context

# Public name → the module that holds it.
_NAMES = {
    "ActorClassID": "_private.ids",
    "ActorID": "_private.ids",
    "ClusterID": "_private.ids",
    "DynamicObjectRefGenerator": "_private.generators",
    "FunctionID": "_private.ids",
    "JobID": "_private.ids",
    "LoggingConfig": "_private.job_logging",
    "NodeID": "_private.ids",
    "ObjectID": "_private.refs",
    "ObjectRef": "_private.refs",
    "ObjectRefGenerator": "_private.generators",
    "PlacementGroupID": "_private.ids",
    "SCRIPT_MODE": "_private.outside.worker",
    "TaskID": "_private.ids",
    "UniqueID": "_private.ids",
    "WORKER_MODE": "_private.outside.worker",
    "WorkerID": "_private.ids",
    "available_resources": "_private.session.api",
    "cancel": "_private.session.api",
    "cluster_resources": "_private.session.api",
    "get": "_private.session.api",
    "get_actor": "_private.session.api",
    "get_gpu_ids": "_private.session.api",
    "get_runtime_context": "runtime_context",
    "init": "_private.session.driver",
    "is_initialized": "_private.session.driver",
    "kill": "_private.session.api",
    "method": "actor",
    "nodes": "_private.session.api",
    "put": "_private.session.api",
    "remote": "_private.session.decorator",
    "shutdown": "_private.session.driver",
    "timeline": "_private.tools.timeline",
    "wait": "_private.session.api",
}
_MODULES = frozenset(
    {
        "actor",
        "autoscaler",
        "cloudpickle",
        "cross_language",
        "exceptions",
        "experimental",
        "internal",
        "job_config",
        "kernels",
        "remote_function",
        "runtime_context",
        "runtime_env",
        "types",
        "util",
    }
)

#: Names that libraries read although Ray's documents do not have them → the module that they stand for.
_OLD = {
    "_raylet": "_raylet",
    "logger": "_private.outside.worker",
    "ray_constants": "_private.ray_constants",
    "state": "_private.state",
    "worker": "_private.worker",
}

#: The library of Ray's that is an attribute although nobody has imported it.
_LAZY = "data"

__all__ = ["__version__", *_NAMES, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    where = _NAMES.get(name)
    if where is not None:
        value = getattr(importlib.import_module(f"eagleray.{where}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"eagleray.{name}")
    elif name in _OLD:
        value = importlib.import_module(f"eagleray.{_OLD[name]}")
        value = value.logger if name == "logger" else value
    elif name == _LAZY and _is_installed(f"ray.{name}"):
        value = importlib.import_module(f"eagleray.{name}")
    else:
        raise _no_attribute(name, sys._getframe(1))
    globals()[name] = value
    return value


hooks.register(hooks.START_SESSION, lambda: importlib.import_module("eagleray._private.session.driver").auto_init())
hooks.register(hooks.TOTAL_PER_NODE, lambda: importlib.import_module("eagleray._private.session.api").total_per_node())
hooks.register(
    hooks.AVAILABLE_PER_NODE, lambda: importlib.import_module("eagleray._private.session.api").available_per_node()
)


def _is_installed(name: str) -> bool:
    from eagleray._private.libraries import finder

    return finder.can_find(name)


def _no_attribute(name: str, frame: FrameType) -> Exception:
    if name.startswith("_"):  # Python itself asks for many of these
        return AttributeError(f"module 'eagleray' has no attribute {name!r}")
    from eagleray._private import missing

    return missing.attribute("eagleray", name, frame)


class _Missing:
    """The last finder of modules: finds those of Ray's libraries, and says what to do without a part of Ray."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:
        if not name.startswith("eagleray."):
            return None
        from eagleray._private import missing
        from eagleray._private.libraries import finder

        # Programs that only ask whether a module exists (importlib.util.find_spec) are to hear yes or no.
        importing = sys._getframe(2).f_code.co_name == "_find_and_load_unlocked"
        if finder.find("ray" + name.removeprefix("eagleray"), importing) is not None:
            return finder.twin(name)
        if importing:
            found = missing.error(name)
            if found is not None:
                raise found
        return None


sys.meta_path.append(_Missing)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
