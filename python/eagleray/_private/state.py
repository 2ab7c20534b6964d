"""What this process knows about its session. Every module imports this one, so it imports nothing of the runtime."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from eagleray._private import hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DRIVER: Final = "driver"
WORKER: Final = "worker"
#: Resource amounts travel as integers of this many to one.
UNIT: Final = 10_000


class EnvBase:
    """What runtime environments of this process's tasks are built on.

    Attributes:
        key: The environment's name on the wire.
        spec: What its processes start with, as ``connect`` takes it.
        runtime_env: What users asked for.
    """

    __slots__ = ("key", "runtime_env", "spec")

    def __init__(self, key: str, spec: dict[str, Any], runtime_env: dict[str, Any]) -> None:
        self.key: str = key
        self.spec: dict[str, Any] = spec
        self.runtime_env: dict[str, Any] = runtime_env


class Session:
    """A live connection to a daemon.

    Args:
        role: ``DRIVER`` or ``WORKER``.
        hot: The C extension.
        answer: What ``connect`` answered.
        env: The environment of this process's tasks.
    """

    __slots__ = (
        *("role", "hot", "env", "node_id", "worker_id", "job_id", "namespace", "session_dir", "totals"),
        *("can_grow", "wait", "addr", "node_addr", "daemon_pid", "on_close", "pinned", "envs", "templates"),
        *("metrics_port", "libraries"),
    )

    def __init__(self, role: str, hot: Any, answer: Mapping[str, Any], env: EnvBase) -> None:
        self.role = role
        self.hot = hot
        self.env = env
        self.node_id: bytes = answer["node_id"]
        self.worker_id: bytes = answer["worker_id"]
        self.job_id: bytes = answer["job_id"]
        self.namespace: str = answer.get("namespace") or ""
        self.session_dir: str = answer.get("session_dir") or ""
        self.totals: dict[str, int] = answer.get("totals") or {}
        self.can_grow: bool = bool(answer.get("can_grow"))
        self.wait: bool = bool(answer.get("wait"))
        self.addr: str = answer.get("addr") or ""
        self.node_addr: str = answer.get("node_addr") or ""  # of the machine, as nodes() says it
        self.daemon_pid: int = answer.get("daemon_pid") or 0
        self.on_close: list[Callable[[], None]] = []
        self.pinned: list[Any] = []  # references that user code pickled by hand
        self.envs: dict[str, str] = {}  # runtime environment as JSON → its key
        self.metrics_port: int | None = None  # that init() has given
        self.libraries = 0  # how many modules of Ray's libraries the environment follows
        self.templates: Any = None  # of tasks, by what they have in common, packed; made at the first


class _Process:
    """The one mutable thing: which session this process is in.

    ``epoch`` changes whenever the session does. ``mark`` changes whenever the session or the placement group does that
    the process works in. Submitters keep the mark that their template was made under and compare it on each call, which
    is all that the fast path pays for sessions that come and go, and for groups that are given to child tasks.
    """

    __slots__ = ("epoch", "forked", "mark", "session")

    def __init__(self) -> None:
        self.session: Session | None = None
        self.epoch = 0
        self.mark = 0
        self.forked = False

    def enter(self, session: Session) -> None:
        """Makes ``session`` the current one."""
        self.session = session
        self.epoch += 1
        self.mark += 1

    def leave(self) -> None:
        """Forgets the session; nothing that was made in it is used again."""
        self.session = None
        self.epoch += 1
        self.mark += 1

    def place_changed(self) -> None:
        """Notes that what this process submits may run somewhere else than what it has submitted before."""
        self.mark += 1

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
        started: Session = hooks.call(hooks.START_SESSION)
        return started


process = _Process()


def available_resources_per_node() -> dict[str, dict[str, float]]:
    """Returns what each living node has free, by the nodes' ids. Libraries of Ray's ask this module.

    Resources that are used up are left out, and so is a node that does not answer within two seconds.
    """
    found: dict[str, dict[str, float]] = hooks.call(hooks.AVAILABLE_PER_NODE)
    return found


def total_resources_per_node() -> dict[str, dict[str, float]]:
    """Returns the resources of each living node, by the nodes' ids. Libraries of Ray's ask this module."""
    found: dict[str, dict[str, float]] = hooks.call(hooks.TOTAL_PER_NODE)
    return found


#: What libraries look for in ``ray._private.state`` beside the two functions above.
_OUTSIDE = frozenset(
    {
        *("GlobalState", "actors", "available_resources", "cluster_resources", "current_node_id", "jobs", "node_ids"),
        *("nodes", "state", "timeline", "workers"),
    }
)


def __getattr__(name: str) -> Any:
    if name not in _OUTSIDE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("eagleray._private.outside.state"), name)
