"""Fault codes of the core (core/fault) → exceptions."""

from __future__ import annotations

import re
from collections.abc import Callable

from eagleray import exceptions as ex

_SHUTDOWN = (
    "The session has ended: {}. Call init() to start a new one; references and handles of the old one stay dead."
)


def _lost(cls: type[ex.ObjectLostError]) -> Callable[[str], Exception]:
    def make(message: str) -> Exception:
        error = cls("")
        error.reason = message
        return error

    return make


_ACTOR_ID = re.compile(r"^\tactor_id: ([0-9a-f]+)$", re.MULTILINE)
_LINES = re.compile(r"^(\t[^\n]*\n)+")


def _actor_died(message: str) -> ex.ActorDiedError:
    found = _ACTOR_ID.search(message)
    head = "The actor ended before it had answered this call."
    return ex.ActorDiedError(f"{head}\n{message}" if message else None, found[1] if found else None)


def _actor_unavailable(message: str) -> Exception:
    found = _ACTOR_ID.search(message)
    return ex.ActorUnavailableError(_LINES.sub("", message), bytes.fromhex(found[1]) if found else None)


def _group_removed(message: str) -> Exception:
    if _ACTOR_ID.search(message) is None:
        return ex.TaskPlacementGroupRemoved(message) if message else ex.TaskPlacementGroupRemoved()
    died = _actor_died(message)
    return ex.ActorPlacementGroupRemoved(str(died), died.actor_id)


def _unmade(reason: str) -> Callable[[str], Exception]:
    return lambda message: ex.ObjectReconstructionFailedError("", f"OBJECT_UNRECONSTRUCTABLE_{reason}", message)


#: One row per code; what a row makes is what users see.
TABLE: dict[str, Callable[[str], Exception]] = {
    "internal": ex.RaySystemError,
    "bad_request": ValueError,
    "not_found": ValueError,
    "already_exists": ex.ActorAlreadyExistsError,
    "task_unschedulable": ex.TaskUnschedulableError,
    "node_busy": ex.TaskUnschedulableError,
    "actor_unschedulable": ex.ActorUnschedulableError,
    "placement_group_removed": _group_removed,
    "placement_group_unschedulable": ex.PlacementGroupUnschedulableError,
    "worker_crashed": ex.WorkerCrashedError,
    "node_died": ex.NodeDiedError,
    "actor_died": _actor_died,
    "actor_unavailable": _actor_unavailable,
    "task_cancelled": lambda message: ex.TaskCancelledError(error_message=message or None),
    "object_lost": _lost(ex.ObjectLostError),
    "owner_died": _lost(ex.OwnerDiedError),
    "object_freed": _lost(ex.ObjectFreedError),
    "lost_put": _unmade("PUT"),
    "lost_lineage_evicted": _unmade("LINEAGE_EVICTED"),
    "lost_max_attempts": _unmade("MAX_ATTEMPTS_EXCEEDED"),
    "lost_retries_disabled": _unmade("RETRIES_DISABLED"),
    "lost_lineage_disabled": _unmade("LINEAGE_DISABLED"),
    "lost_borrowed": _unmade("BORROWED"),
    "interrupted": ex.RaySystemError,  # what a signal's handler raised comes in its place
    "store_full": ex.ObjectStoreFullError,
    "out_of_disk": ex.OutOfDiskError,
    "out_of_memory": ex.OutOfMemoryError,
    "gpu_memory_exceeded": ex.GpuMemoryExceededError,
    "runtime_env_setup": ex.RuntimeEnvSetupError,
    "daemon_died": ex.LocalRayletDiedError,
    "pending_calls_limit": ex.PendingCallsLimitExceeded,
    "closed": lambda message: ex.RaySystemError(_SHUTDOWN.format(message.rstrip("."))),
    "version_mismatch": ex.RaySystemError,
    "head_unavailable": ex.RaySystemError,
    "may_have_been_applied": ex.RaySystemError,
    "end_of_stream": ex.ObjectRefStreamEndOfStreamError,
    "stream_inconsistent": ex.StreamingGeneratorReplayInconsistentError,
}


def of_dependant(code: str, message: str, task: str) -> Exception:
    """The exception of a task that never ran because an argument of it has a fault."""
    cause = to_exception(code, message)
    return ex.RayTaskError(task, argument_text(cause), cause).as_instanceof_cause()


def argument_text(error: BaseException) -> str:
    """The traceback of a task that never ran because of ``error``."""
    kind = type(error)
    head = "  At least one of the input arguments for this task could not be computed:"
    return f"{head}\n{kind.__module__}.{kind.__qualname__}: {error}"


def to_exception(code: str, message: str) -> Exception:
    """The exception for a fault; a code from the future becomes a ``RaySystemError``."""
    make = TABLE.get(code)
    return make(message) if make is not None else ex.RaySystemError(f"{message} ({code})")
