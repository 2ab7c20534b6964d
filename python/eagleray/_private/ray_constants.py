"""Constants of ``ray._private.ray_constants`` that libraries and tests read, as far as they mean something here."""

from __future__ import annotations

import os
from typing import Any

from eagleray._private import driver_log
from eagleray._private.session.driver import MIN_STORE_BYTES


def env_bool(key: str, default: bool) -> bool:
    """Returns whether a variable of the environment is "1" or "true"."""
    return os.environ[key].lower() in ("1", "true") if key in os.environ else default


def env_integer(key: str, default: Any) -> Any:
    """Returns a variable of the environment as a whole number, or the default where it is not set, or is none."""
    return _number(int, "an integer", key, default)


def env_float(key: str, default: Any) -> Any:
    """Returns a variable of the environment as a number, or the default where it is not set, or is none."""
    return _number(float, "a float", key, default)


def _number(kind: type, what: str, key: str, default: Any) -> Any:
    if key not in os.environ:
        return default
    try:
        return kind(os.environ[key])
    except ValueError:
        driver_log.warning(f"the variable {key} is {os.environ[key]!r}, which is not {what}: {default} is taken")
        return default


#: There is no Redis and so no password.
REDIS_DEFAULT_PASSWORD = ""
OBJECT_STORE_MINIMUM_MEMORY_BYTES = MIN_STORE_BYTES
DEFAULT_OBJECT_STORE_MEMORY_PROPORTION = 0.3
DEFAULT_RUNTIME_ENV_TIMEOUT_SECONDS = 600
DEFAULT_TASK_MAX_RETRIES = 3
DEFAULT_ACTOR_METHOD_NUM_RETURN_VALS = 1
DEFAULT_MAX_CONCURRENCY_ASYNC = 1000
DEFAULT_MAX_CONCURRENCY_THREADED = 1
DEFAULT_PORT = 6379
DEFAULT_DASHBOARD_IP = "127.0.0.1"
DEFAULT_DASHBOARD_PORT = 8265
NODE_DEFAULT_IP = "127.0.0.1"
#: What ``ps`` shows of workers begins so; those that do nothing have the second one.
WORKER_PROCESS_TYPE_PREFIX = "ray::"
WORKER_PROCESS_TYPE_IDLE_WORKER = "ray::IDLE"
RESOURCE_CONSTRAINT_PREFIX = "accelerator_type:"
ID_SIZE = 28
NIL_JOB_ID = b"\xff" * 4
LOG_PREFIX_ACTOR_NAME = ":actor_name:"
LOG_PREFIX_TASK_NAME = ":task_name:"
LOG_PREFIX_JOB_ID = ":job_id:"
LOG_PREFIX_INFO_MESSAGE = ":info_message:"
LOG_MONITOR_MAX_OPEN_FILES = 200
LOG_MONITOR_NUM_LINES_TO_READ = 1000

#: The variable with the address of a dashboard of the user's own, which ``init`` tells in place of the session's.
RAY_OVERRIDE_DASHBOARD_URL = "RAY_OVERRIDE_DASHBOARD_URL"
KV_NAMESPACE_FUNCTION_TABLE = b"fun"
PROCESS_TYPE_RAYLET = "raylet"
PROCESS_TYPE_GCS_SERVER = "gcs_server"
PROCESS_TYPE_REAPER = "reaper"
PROCESS_TYPE_WORKER = "worker"
TASK_PUSH_ERROR = "task"
WORKER_DIED_PUSH_ERROR = "worker_died"
WORKER_CRASH_PUSH_ERROR = "worker_crash"
PICKLING_LARGE_OBJECT_PUSH_ERROR = "pickling_large_object"
