"""The exceptions that users catch, with Ray's names and bases.

An exception that a task raised reaches the caller as ``RayTaskError`` *and* as the class that the task raised: see
``RayTaskError.as_instanceof_cause``. Every other failure has a class of its own here; ``_private.faults`` maps the
core's fault codes to them.
"""

from __future__ import annotations

from typing import Any

from eagleray._private.dual import dual_exception


class RayError(Exception):
    """The base of all errors of the runtime."""


class RayTaskError(RayError):
    """A task or actor method raised an exception.

    Attributes:
        function_name: What ran.
        traceback_str: The remote traceback as text.
        cause: The exception that was raised there, or a stand-in when it could not be carried over.
        pid, ip: Where it ran.
        actor_repr, actor_id: The actor, if it was a method.
    """

    def __init__(
        self,
        function_name: str,
        traceback_str: str,
        cause: BaseException,
        proctitle: str | None = None,
        pid: int | None = None,
        ip: str | None = None,
        actor_repr: str | None = None,
        actor_id: str | None = None,
    ) -> None:
        super().__init__(function_name, traceback_str, cause, proctitle, pid, ip)
        self.function_name = function_name
        self.traceback_str = traceback_str
        self.cause = cause
        self.proctitle: str = proctitle or f"eagleray::{function_name}()"
        self.pid = pid
        self.ip = ip
        self.actor_repr = actor_repr
        self.actor_id = actor_id

    def __reduce__(self) -> Any:
        fields = (self.function_name, self.traceback_str, self.cause, self.proctitle, self.pid, self.ip)
        return RayTaskError, (*fields, self.actor_repr, self.actor_id)

    def as_instanceof_cause(self) -> RayTaskError:
        """This error as an instance of its cause's class too, or itself when no such class can be made."""
        return dual_exception(self, RayTaskError)

    def make_dual_exception_instance(self) -> RayTaskError:
        """The same as ``as_instanceof_cause``, under Ray's name for the step."""
        return self.as_instanceof_cause()

    def _headline(self) -> str:
        """What ran, and where: the line in front of the traceback."""
        where = [f"pid={self.pid}", f"ip={self.ip}"] if self.pid is not None else []
        if self.actor_id:
            where.append(f"actor_id={self.actor_id}")
        if self.actor_repr:
            where.append(f"repr={self.actor_repr}")
        return self.proctitle + (f" ({', '.join(where)})" if where else "")

    def __str__(self) -> str:
        # As under Ray, the headline stands in place of the traceback's first line.
        text = self.traceback_str.rstrip().removeprefix("Traceback (most recent call last):\n")
        return f"{RayTaskError._headline(self)}\n{text}"


class TaskCancelledError(RayError):
    """The task was cancelled.

    Attributes:
        task_id: The ``TaskID`` of the task, if it ran; ``None`` if it had not begun or its process was ended.
        error_message: More about it.
    """

    def __init__(self, task_id: Any = None, error_message: str | None = None) -> None:
        super().__init__(*(() if task_id is None else (task_id,)))
        self.task_id = task_id
        self.error_message = error_message

    def __reduce__(self) -> Any:
        return type(self), (self.task_id, self.error_message)

    def __str__(self) -> str:
        if self.task_id is None:
            return self.error_message or "This task or its owner was cancelled."
        return f"Task: {self.task_id} was cancelled. {self.error_message or ''}".rstrip()


class GetTimeoutError(RayError, TimeoutError):
    """``get`` was given a timeout and it passed."""


class WorkerCrashedError(RayError):
    """The worker ended while it ran the task, and no retries are left."""


class RayActorError(RayError):
    """The actor cannot be reached.

    Attributes:
        actor_id: The actor in hex, if known.
        actor_init_failed: Whether its constructor failed.
    """

    def __init__(
        self,
        actor_id: str | None = None,
        error_msg: str = "The actor experienced an error before finishing this task.",
        actor_init_failed: bool = False,
        preempted: bool = False,
    ) -> None:
        super().__init__()
        self.actor_id = actor_id
        self.error_msg = error_msg
        self.actor_init_failed = actor_init_failed
        self.preempted = preempted

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args, dict(self.__dict__))

    def __str__(self) -> str:
        return self.error_msg


class ActorDiedError(RayActorError):
    """The actor is dead for good."""

    def __init__(
        self, cause: RayTaskError | str | None = None, actor_id: str | None = None, lacking: str | None = None
    ) -> None:
        self._lacking = lacking  # why the constructor did not even begin
        if isinstance(cause, RayTaskError):
            why = f"its constructor did not run: {lacking}" if lacking else "its constructor raised"
            message = f"The actor does not exist, because {why}: {cause}"
            super().__init__(cause.actor_id, message, actor_init_failed=True)
            self.args: tuple[Any, ...] = (cause,)
            self.cause: RayTaskError | None = cause
            self.__cause__: BaseException | None = cause.cause
        else:
            super().__init__(actor_id, cause or "The actor ended before it had answered this call.")
            self.cause = None

    @staticmethod
    def from_task_error(task_error: RayTaskError) -> ActorDiedError:
        """The error of an actor whose constructor raised ``task_error``."""
        return ActorDiedError(task_error)

    def __reduce__(self) -> Any:
        return ActorDiedError, (self.cause or self.error_msg, self.actor_id, self._lacking)


class ActorUnavailableError(RayActorError):
    """The actor cannot be reached now; the call may or may not have run."""

    def __init__(self, error_message: str, actor_id: bytes | None = None) -> None:
        super().__init__(
            actor_id.hex() if actor_id else None,
            f"The actor {actor_id.hex() if actor_id else 'nil'} is unavailable: {error_message}. "
            "Whether the call ran is not known.",
        )


class RaySystemError(RayError):
    """The runtime itself failed, or was used when it was not running."""

    def __init__(self, client_exc: Any, traceback_str: str | None = None) -> None:
        super().__init__(client_exc)
        self.client_exc = client_exc
        self.traceback_str = traceback_str

    def __str__(self) -> str:
        return f"System error: {self.client_exc}" + (f"\ntraceback: {self.traceback_str}" if self.traceback_str else "")


class UserCodeException(RayError):
    """The user's code raised an exception."""


class UnserializableException(RayError):
    """An exception could not be rebuilt in this process; its text could."""

    def __init__(self, original_stack_trace: str) -> None:
        super().__init__(original_stack_trace)

    def __str__(self) -> str:
        return f"Failed to deserialize exception.\nOriginal exception:\n{self.args[0]}"


class _Message(RayError):
    """An error with a text."""

    def __init__(self, error_message: str) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message


class TaskUnschedulableError(_Message):
    """No node, now or later, has what the task asks for."""

    def __str__(self) -> str:
        return f"The task is not schedulable: {self.error_message}"


class ActorUnschedulableError(_Message):
    """No node, now or later, has what the actor asks for."""

    def __str__(self) -> str:
        return f"The actor is not schedulable: {self.error_message}"


class PlacementGroupUnschedulableError(_Message):
    """The nodes of the cluster can never have the bundles of a placement group."""

    def __str__(self) -> str:
        return f"The placement group is not schedulable: {self.error_message}"


class ActorAlreadyExistsError(ValueError, RayError):
    """The name is taken by a living actor."""

    def __init__(self, error_message: str) -> None:
        super().__init__(error_message)
        self.error_message = error_message


class ActorHandleNotFoundError(ValueError, RayError):
    """The handle belongs to another session."""

    def __init__(self, error_message: str) -> None:
        super().__init__(error_message)
        self.error_message = error_message


class LocalRayletDiedError(RayError):
    """The daemon of this machine ended."""

    def __init__(self, *args: Any) -> None:
        super().__init__(
            *(args or ("The task's local daemon died. Look into daemon.log in the session's logs folder.",))
        )


class NodeDiedError(RayError):
    """A machine of the cluster was lost."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class OutOfMemoryError(RayError):
    """A worker was ended because the machine ran out of memory."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class GpuMemoryExceededError(OutOfMemoryError):
    """A worker was ended because it held more of a GPU's memory than its ``gpu_memory`` (``gpu_memory_enforce=True``).

    The task is not tried again, whatever its ``max_retries``: it would do the same. An actor restarts while its
    ``max_restarts`` allow it.
    """


class OutOfDiskError(RayError):
    """The disk that objects are spilled to is full."""


class ObjectStoreFullError(RayError):
    """The object store is full, and so is the disk."""


class RuntimeEnvSetupError(_Message):
    """The runtime environment could not be made."""

    def __init__(self, error_message: str | None = None) -> None:
        super().__init__(error_message or "")

    def __str__(self) -> str:
        head = "Failed to set up runtime environment."
        return f"{head}\n{self.error_message}" if self.error_message else head


class PendingCallsLimitExceeded(RayError):
    """``max_pending_calls`` calls of the actor are waiting."""


class ObjectLostError(RayError):
    """The object is gone and cannot be computed again.

    Attributes:
        object_ref_hex: The object's id.
    """

    def __init__(self, object_ref_hex: str, owner_address: Any = None, call_site: str = "") -> None:
        super().__init__(object_ref_hex, owner_address, call_site)
        self.object_ref_hex = object_ref_hex
        self.owner_address = owner_address
        self.call_site = call_site
        self.reason = ""

    def __str__(self) -> str:
        return (
            self.reason
            or f"Object {self.object_ref_hex} is lost: all its copies were on processes or machines that ended."
        )


class ObjectFetchTimedOutError(ObjectLostError):
    """The object could not be fetched in time."""


class ReferenceCountingAssertionError(ObjectLostError, AssertionError):
    """The object was freed while references to it existed."""


class ObjectFreedError(ObjectLostError):
    """The object was freed by the user."""


class OwnerDiedError(ObjectLostError):
    """The process that created the reference ended, and the object with it."""

    def __str__(self) -> str:
        return self.reason or f"Object {self.object_ref_hex} is lost because the process that owned it ended."


class ObjectReconstructionFailedError(ObjectLostError):
    """The object is lost and cannot be computed again.

    Attributes:
        reason: Which of ``REASONS`` it is, by name; ``None`` when not known.
        reason_message: The same in words.
    """

    #: Why an object cannot be computed again.
    REASONS = (
        "OBJECT_UNRECONSTRUCTABLE_MAX_ATTEMPTS_EXCEEDED",
        "OBJECT_UNRECONSTRUCTABLE_LINEAGE_EVICTED",
        "OBJECT_UNRECONSTRUCTABLE_PUT",
        "OBJECT_UNRECONSTRUCTABLE_RETRIES_DISABLED",
        "OBJECT_UNRECONSTRUCTABLE_LINEAGE_DISABLED",
        "OBJECT_UNRECONSTRUCTABLE_BORROWED",
    )

    def __init__(
        self,
        object_ref_hex: str,
        reason: Any = None,
        reason_message: str | None = None,
        owner_address: Any = None,
        call_site: str = "",
    ) -> None:
        super().__init__(object_ref_hex, owner_address, call_site)
        self.reason = reason
        self.reason_message: str = reason_message or ""

    def __str__(self) -> str:
        what = self.reason_message or f"Object {self.object_ref_hex} is lost and cannot be computed again."
        return f"[{self.reason}] {what}" if self.reason else what


class AsyncioActorExit(RayError):
    """Raised inside an async actor that is to end."""


class TaskPlacementGroupRemoved(RayError):
    """The task's placement group was removed."""

    def __init__(self, error_message: str = "The placement group of this task was removed.") -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message


class ActorPlacementGroupRemoved(ActorDiedError):
    """The actor's placement group was removed, and the actor ended with it.

    Ray's calls of such an actor fail with ``ActorDiedError``, so this is one, too.
    """

    def __init__(
        self, error_msg: str = "The actor ended because its placement group was removed.", actor_id: str | None = None
    ) -> None:
        super().__init__(error_msg, actor_id)

    def __reduce__(self) -> Any:
        return type(self), (self.error_msg, self.actor_id)


class CrossLanguageError(RayError):
    """A function of another language failed.

    What ``get`` raises is a ``RayTaskError``, too, whose ``cause`` is this error.

    Attributes:
        language: The language, ``"go"``.
        kind: ``"error"`` when the function returned an error, ``"panic"``, or ``"refused"`` when it was not called.
        message: The text of the error.
        function: The function or method.
    """

    language: str = ""
    kind: str = ""
    message: str = ""
    function: str = ""


class AuthenticationError(RayError):
    """The cluster refused the token."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ObjectRefStreamEndOfStreamError(RayError):
    """A stream of references has ended."""


class StreamingGeneratorReplayInconsistentError(RaySystemError):
    """A generator that ran again, to make lost items anew, yielded fewer than it did at first."""


class OufOfBandObjectRefSerializationException(RayError):
    """A reference was pickled outside the runtime where that is forbidden."""


class RayChannelError(RaySystemError):
    """A channel between actors failed."""


class RayChannelTimeoutError(RayChannelError, TimeoutError):
    """A channel between actors was not ready in time."""


class RayCgraphCapacityExceeded(RaySystemError):
    """A compiled graph had too many calls under way. There are no compiled graphs here, so nothing raises it."""


class RayDirectTransportError(RaySystemError):
    """A tensor transport failed. There is none beside the object store, so nothing raises it."""


class PlasmaObjectNotAvailable(RayError):
    """An object was not in the object store although it had to be. Nothing raises it here."""


class RpcError(_Message):
    """A message between processes of the runtime failed."""

    def __init__(self, message: str, rpc_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.rpc_code = rpc_code

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.rpc_code)


def _rebuild(cls: type[RayError], args: tuple[Any, ...], state: dict[str, Any]) -> RayError:
    """Unpickles an error whose constructor takes other arguments than it keeps."""
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


__all__ = [
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, Exception) and not name.startswith("_")
]
