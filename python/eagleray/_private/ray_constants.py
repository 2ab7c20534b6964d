"""Constants of ``ray._private.ray_constants`` that libraries and tests read, as far as they mean something here."""

from __future__ import annotations

import os

from eagleray._private.session.driver import MIN_STORE_BYTES


def env_bool(key: str, default: bool) -> bool:
    """Returns whether a variable of the environment is "1" or "true"."""
    return os.environ[key].lower() in ("1", "true") if key in os.environ else default


def env_integer(key: str, default: int) -> int:
    """Returns a variable of the environment as a whole number.

    Raises:
        ValueError: it is none.
    """
    return int(os.environ.get(key, default))


def env_float(key: str, default: float) -> float:
    """Returns a variable of the environment as a number.

    Raises:
        ValueError: it is none.
    """
    return float(os.environ.get(key, default))


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
