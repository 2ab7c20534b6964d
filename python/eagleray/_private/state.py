"""What this process knows about the session that it is in. Imports nothing of the runtime: everything imports it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVER: Final = "driver"
WORKER: Final = "worker"
#: Resource amounts travel as integers of this many to one.
UNIT: Final = 10_000


@dataclass(slots=True)
class Session:
    """A live connection to a daemon."""

    role: str
    hot: Any
    node_id: bytes
    worker_id: bytes
    job_id: bytes
    namespace: str
    session_dir: str
    totals: dict[str, int]
    can_grow: bool
    wait: bool
    addr: str
    daemon_pid: int
    env: EnvBase
    on_close: list[Callable[[], None]] = field(default_factory=list)
    pinned: list[Any] = field(default_factory=list)  # references that user code pickled by hand
    envs: dict[str, str] = field(default_factory=dict)  # runtime environment as JSON → its key


@dataclass(slots=True)
class EnvBase:
    """What runtime environments of this process's tasks are built on."""

    key: str
    spec: dict[str, Any]
    runtime_env: dict[str, Any]


class _Process:
    """The one mutable thing: which session this process is in.

    ``epoch`` changes whenever the session does. Submitters keep the number that their template was made under and
    compare it on each call, which is all that the fast path pays for sessions that come and go.
    """

    __slots__ = ("epoch", "forked", "session")

    def __init__(self) -> None:
        self.session: Session | None = None
        self.epoch = 0
        self.forked = False

    def enter(self, session: Session) -> None:
        """Makes ``session`` the current one."""
        self.session = session
        self.epoch += 1

    def leave(self) -> None:
        """Forgets the session; nothing that was made in it is used again."""
        self.session = None
        self.epoch += 1

    def require(self) -> Session:
        """The current session; a driver without one starts the default session."""
        session = self.session
        if session is not None:
            return session
        if self.forked:
            raise RuntimeError(
                "this process was forked by user code from one that is in an Eagle Ray session, and cannot use it: "
                "call the API in the parent, or start the process with multiprocessing's 'spawn' method"
            )
        from eagleray._private.session import auto_init

        return auto_init()


process = _Process()
