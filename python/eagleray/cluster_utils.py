"""Clusters of several nodes on this machine, for tests of programs that need more than one node."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from eagleray._private import driver_log, missing
from eagleray._private.cli import BINARY
from eagleray._private.session.node import LOCAL_CLUSTER

__all__ = ["AutoscalingCluster", "Cluster", "ClusterNode", "NodeProcess", "ProcessInfo"]

#: Whether clusters of several nodes cannot be made on this machine. They can.
cluster_not_supported = False

_START_SECONDS = 90.0
_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.02
#: Arguments of a node that become flags with a text, and with JSON.
_TEXTS = ("num_cpus", "num_gpus", "memory", "object_store_memory", "node_name", "node_ip_address", "gpu_memory")
_JSON = {"resources": "--resources", "_system_config": "--system-config"}
#: Arguments of Ray's nodes without a meaning here.
_UNUSED = re.compile(r"dashboard_\w+|include_dashboard|redis_\w+|\w*_port|plasma_\w+|no_monitor|include_log_monitor")
_UNUSED_WHY = "nodes choose free ports by themselves, and have neither Redis nor a dashboard"
#: Arguments without an effect of which the program was told.
_said: set[str] = set()
_DEFAULTS = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 150 << 20, "node_ip_address": "127.0.0.1"}
#: Variables that would lead a node elsewhere.
_ELSEWHERE = (
    *("RAY_ADDRESS", "EAGLERAY_ADDRESS", "EAGLERAY_TOKEN_FILE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"),
    *("RAY_gcs_storage_path", "EAGLERAY_gcs_storage_path"),
)

#: Files of a session with the numbers of a node's processes, by the types that Ray gives to such processes.
_PID_FILES = {"raylet": "pid", "reaper": "warden.pid", "gcs_server": "head.pid"}


class NodeProcess:
    """A process of a node, with those methods of ``subprocess.Popen`` that work for a process of another parent.

    Attributes:
        pid: The number of the process.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._since = _since(pid)

    def poll(self) -> int | None:
        """Returns None while the process runs, else 0. Only its parent can know with which status it has ended."""
        return None if self._since is not None and _since(self.pid) == self._since else 0

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the process has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Sends SIGTERM, unless the process has ended."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL, unless the process has ended."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end of the process, and returns what ``poll`` returns then.

        Raises:
            subprocess.TimeoutExpired: The process still runs after ``timeout`` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if timeout is not None and end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(_POLL_SECONDS)
        return status

    def __repr__(self) -> str:
        return f"NodeProcess({self.pid})"


class ProcessInfo(NamedTuple):
    """What ``ClusterNode.all_processes`` holds for each process."""

    process: NodeProcess


def _since(pid: int) -> str | None:
    """Returns when a process has started, in clock ticks since the machine's start; None when it does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


class ClusterNode:
    """A node of a ``Cluster``: an ``eagleray start`` with a temporary folder of its own.

    Attributes:
        node_id: The node's id, as in ``nodes()``.
        session_dir: The folder of the node's session. ``init(address=node.session_dir)`` makes the program work on
            this node.
        pid: The process of the node's daemon.
    """

    def __init__(self, words: list[str], env_vars: dict[str, str], ip: str) -> None:
        self._ip = ip
        # Paths of sockets are short, so the usual folder for temporary files may not serve.
        self._folder = tempfile.mkdtemp(prefix="er", dir="/tmp")
        self._env = {**os.environ, **env_vars, "EAGLERAY_TMPDIR": self._folder}
        self._env.setdefault("EAGLERAY_PYTHON", sys.executable)
        for name in _ELSEWHERE:
            self._env.pop(name, None)
        try:
            said = self._run("start", *words, limit=_START_SECONDS)
            self.session_dir, self.pid = _found(r"session +(\S+) \(daemon pid (\d+)\)", said)
            (self.node_id,) = _found(r"node +([0-9a-f]{56})", said)
            command = re.search(r"--address='(\S+)' --token-file=(\S+)", said)
        except BaseException:
            self._clear()
            raise
        self._joining = command.groups() if command else None
        self._known: dict[str, NodeProcess] = {}
        self._killed = False
        self._look()

    @property
    def unique_id(self) -> str:
        """The node's id, under another name of Ray's."""
        return self.node_id

    @property
    def address(self) -> str:
        """What ``init(address=…)`` takes to work on this node: the folder of its session."""
        return self.session_dir

    @property
    def address_info(self) -> dict[str, str]:
        """Where the node is, with Ray's keys."""
        socket = os.path.join(self.session_dir, "d.sock")
        return {
            "node_id": self.node_id,
            "session_dir": self.session_dir,
            "raylet_socket_name": socket,
            "object_store_address": socket,
        }

    @property
    def node_ip_address(self) -> str:
        """The address at which other nodes reach this one."""
        return self._ip

    @property
    def all_processes(self) -> dict[str, list[ProcessInfo]]:
        """The node's processes by their types, without workers and without processes that were ended on purpose.

        The types are Ray's: ``"raylet"`` is the daemon, ``"reaper"`` the warden, and ``"gcs_server"`` the head, which
        only the first node has. A head that its warden has started again is the new process.
        """
        if self._killed:
            return {}
        return {name: [ProcessInfo(process)] for name, process in self._look().items()}

    def live_processes(self) -> list[tuple[str, NodeProcess]]:
        """Returns the node's processes that run, each with its type."""
        return [(name, process) for name, process in self._look().items() if process.poll() is None]

    def dead_processes(self) -> list[tuple[str, NodeProcess]]:
        """Returns the node's processes that have ended by themselves, each with its type."""
        return [
            (name, info.process)
            for name, infos in self.all_processes.items()
            for info in infos
            if info.process.poll() is not None
        ]

    def any_processes_alive(self) -> bool:
        """Whether a process of the node runs. When the daemon has ended, its warden ends all others."""
        return bool(self.live_processes())

    def remaining_processes_alive(self) -> bool:
        """Whether all processes of the node run that ``kill_raylet`` and ``remove_node`` have not ended."""
        return not self.dead_processes()

    def kill_raylet(self) -> None:
        """Kills the node's daemon, as a crash would. The rest of the node ends at once; ``remove_node`` cleans up."""
        self._killed = True
        self._known["raylet"].kill()

    def kill_gcs_server(self) -> None:
        """Kills the head, as a crash would. The node's warden starts another one, which ``start_gcs_server`` waits for.

        Raises:
            RuntimeError: this node has no head: only the first one of a cluster has.
        """
        head = self._look().get("gcs_server")
        if head is None:
            raise RuntimeError(f"{self} has no head: only the first node of a cluster has one")
        head.kill()
        head.wait(_STOP_SECONDS)

    def start_gcs_server(self) -> None:
        """Waits until a head runs that answers; the node's warden starts one after each that has ended.

        Raises:
            RuntimeError: this node has no head.
            TimeoutError: none answers in time.
        """
        if self._joining is None:
            raise RuntimeError(f"{self} has no head: only the first node of a cluster has one")
        end = time.monotonic() + _START_SECONDS
        while True:
            runs = self._look()["gcs_server"].poll() is None
            with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
                if runs and self.node_id[:8] in self._alive():
                    return
            if time.monotonic() > end:
                raise TimeoutError(f"no head answers {self} after {_START_SECONDS:.0f} s")
            time.sleep(_POLL_SECONDS)

    def _look(self) -> dict[str, NodeProcess]:
        """Returns the node's processes. One that has ended stays, until another one is there in its place."""
        for name, file in _PID_FILES.items():
            known = self._known.get(name)
            if known is not None and known.poll() is None:
                continue
            # A process that is not there has no file, or has one that it is about to lose.
            with contextlib.suppress(OSError, ValueError):
                with open(os.path.join(self.session_dir, file), encoding="ascii") as text:
                    found = NodeProcess(int(text.read()))
                if known is None or found.poll() is None:
                    self._known[name] = found
        return self._known

    def __repr__(self) -> str:
        return f"ClusterNode({self.node_id[:8]}, {self.session_dir!r})"

    def _run(self, *words: str, limit: float) -> str:
        done = subprocess.run([BINARY, *words], env=self._env, capture_output=True, text=True, timeout=limit)
        if done.returncode != 0:
            text = (done.stderr or done.stdout).strip()
            raise RuntimeError(f"`eagleray {' '.join(words)}` failed with status {done.returncode}: {text}")
        return done.stdout

    def _alive(self) -> set[str]:
        """The first eight digits of the ids of the nodes that are alive, as this node sees them."""
        return set(re.findall(r"(?m)^  alive \w+  ([0-9a-f]{8})  ", self._run("status", limit=_STOP_SECONDS)))

    def _end(self, graceful: bool) -> None:
        """Ends the node. Without grace its daemon is killed, as by a crash."""
        if not graceful:
            self.kill_raylet()
        self._killed = True
        self._clear()

    def _clear(self) -> None:
        try:
            self._run("stop", limit=_STOP_SECONDS)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _found(pattern: str, said: str) -> tuple[str, ...]:
    found = re.search(pattern, said)
    if found is None:
        raise RuntimeError(f"`eagleray start` has not said {pattern!r} in {said!r}")
    return found.groups()


class Cluster:
    """A cluster of several nodes on this machine.

    The first node has the head. A program works on one of the nodes: ``connect()`` joins the node with the head, and so
    do ``init()`` and ``init("auto")`` of this program and of those that it starts; ``init(address=node.session_dir)``
    joins any other one. See docs/cluster.md for what nodes do for each other.

    Args:
        initialize_head: Start the first node at once.
        connect: Call ``init()`` on the first node, too.
        head_node_args: Arguments for ``add_node`` of the first node.
        shutdown_at_exit: End all nodes when the program ends by itself. A program that is killed leaves them.
    """

    def __init__(
        self,
        initialize_head: bool = False,
        connect: bool = False,
        head_node_args: dict[str, Any] | None = None,
        shutdown_at_exit: bool = True,
    ) -> None:
        if connect and not initialize_head:
            raise ValueError("connect=True needs a head: give initialize_head=True too")
        if head_node_args and not initialize_head:
            raise ValueError("head_node_args are for the head: give initialize_head=True too")
        self.head_node: ClusterNode | None = None
        self.worker_nodes: set[ClusterNode] = set()
        self.connected = False
        self._insecure: list[str] = []
        if shutdown_at_exit:
            atexit.register(self.shutdown)
        if initialize_head:
            self.add_node(**(head_node_args or {}))
        if connect:
            self.connect()

    @property
    def address(self) -> str:
        """What ``init(address=…)`` takes to work on the node with the head: the folder of its session."""
        return self._head().session_dir

    @property
    def gcs_address(self) -> str:
        """HOST:PORT of the head."""
        joining = self._head()._joining
        assert joining is not None
        return str(joining[0])

    def _head(self) -> ClusterNode:
        if self.head_node is None:
            raise RuntimeError("the cluster has no head: call add_node() first")
        return self.head_node

    def connect(self, namespace: str | None = None) -> None:
        """Makes this program work on the node with the head."""
        import eagleray

        eagleray.init(address=self.address, namespace=namespace, ignore_reinit_error=True)
        self.connected = True

    def add_node(self, wait: bool = True, **node_args: Any) -> ClusterNode:
        """Starts a node, the first time one with the head.

        Args:
            wait: Return when the cluster shows the node as alive.
            node_args: num_cpus (1 by default), num_gpus (0), resources, memory, object_store_memory (150 MiB), labels,
                node_name, node_ip_address (127.0.0.1), gpu_memory, _system_config, and env_vars for the node's
                processes; its workers have those that the driver does not set, see docs/environment.md. insecure=True
                of the first node makes a cluster that does not encrypt what goes between its nodes. Further arguments
                of Ray about ports, Redis and the dashboard have no effect, and a warning says so once for each.

        Raises:
            TypeError: There is no such argument.
            ValueError: insecure is given for a later node.
            RuntimeError: The node has not started; the message says why.
        """
        given = {**_DEFAULTS, **node_args}
        words, env_vars, ip = _flags(given), node_args.get("env_vars") or {}, str(given["node_ip_address"])
        if self.head_node is None:
            self._insecure = ["--insecure"] * bool(node_args.get("insecure"))
            words += self._insecure
            node = self.head_node = ClusterNode(["--head", "--port=0", *words], env_vars, ip)
            os.environ[LOCAL_CLUSTER] = node.session_dir
        else:
            if node_args.get("insecure") is not None:
                raise ValueError("insecure is an argument of the first node only: the others do as it does")
            assert self.head_node._joining is not None
            address, token = self.head_node._joining
            words += [f"--address={address}", f"--token-file={token}", *self._insecure]
            node = ClusterNode(words, env_vars, ip)
            self.worker_nodes.add(node)
        if wait:
            self._await(lambda alive: node.node_id[:8] in alive, 30.0, f"{node} is not alive")
        return node

    def remove_node(self, node: ClusterNode, allow_graceful: bool = True) -> None:
        """Ends a node and waits until the cluster knows it.

        Args:
            node: The node. That with the head comes last.
            allow_graceful: Stop the node; else kill its daemon, as by a crash.

        Raises:
            ValueError: The node is none of this cluster, or it has the head and others live.
        """
        if node is self.head_node:
            if self.worker_nodes:
                raise ValueError("remove the other nodes before the one with the head, or call shutdown()")
            self.head_node = None
            _forget(node)
            node._end(allow_graceful)
            return
        if node not in self.worker_nodes:
            raise ValueError(f"{node} is none of this cluster, or was removed")
        self.worker_nodes.remove(node)
        node._end(allow_graceful)
        self._await(lambda alive: node.node_id[:8] not in alive, 30.0, f"{node} is still alive")

    def wait_for_nodes(self, timeout: float = 30) -> None:
        """Waits until exactly the nodes of this cluster are alive.

        Raises:
            TimeoutError: They are not in time.
        """
        expected = {node.node_id[:8] for node in self.list_all_nodes()}
        self._await(lambda alive: alive == expected, timeout, f"the nodes {sorted(expected)} are not all alive")

    def _await(self, done: Callable[[set[str]], bool], timeout: float, what: str) -> None:
        end = time.monotonic() + timeout
        while not done(alive := self._head()._alive()):
            if time.monotonic() > end:
                raise TimeoutError(f"{what} after {timeout:.0f} s; alive are {sorted(alive)}")
            time.sleep(_POLL_SECONDS)

    def list_all_nodes(self) -> list[ClusterNode]:
        """Returns the nodes that were added and not removed."""
        return [*self.worker_nodes, *([self.head_node] if self.head_node else [])]

    def remaining_processes_alive(self) -> bool:
        """Whether all processes of all nodes run, except for those that ``kill_raylet`` has ended."""
        return all(node.remaining_processes_alive() for node in self.list_all_nodes())

    def shutdown(self) -> None:
        """Ends this program's session, if connect() began it, and all nodes."""
        atexit.unregister(self.shutdown)
        if self.connected:
            import eagleray

            eagleray.shutdown()
            self.connected = False
        nodes = self.list_all_nodes()  # the head is the last one
        if self.head_node is not None:
            _forget(self.head_node)
        self.worker_nodes, self.head_node = set(), None
        errors = []
        for node in nodes:
            try:
                node._end(graceful=True)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                errors.append(error)
        if errors:
            raise errors[0]


def _forget(head: ClusterNode) -> None:
    """Lets ``init()`` find a node no more, if it is that of the cluster that was started last."""
    if os.environ.get(LOCAL_CLUSTER) == head.session_dir:
        del os.environ[LOCAL_CLUSTER]


class AutoscalingCluster:
    """Ray's cluster with an autoscaler. None can be made here.

    Raises:
        NotImplementedError: always.
    """

    def __init__(
        self, head_resources: Any, worker_node_types: Any, autoscaler_v2: bool = False, **config_kwargs: Any
    ) -> None:
        self._refuse()

    def start(self, _system_config: Any = None, override_env: Any = None) -> None:
        """Raises NotImplementedError."""
        self._refuse()

    def shutdown(self) -> None:
        """Raises NotImplementedError."""
        self._refuse()

    def _refuse(self) -> None:
        raise NotImplementedError(
            "AutoscalingCluster: Eagle Ray has no autoscaler that starts nodes for tests. Add nodes with "
            "Cluster.add_node instead"
        )


def _check_ports(arguments: dict[str, Any]) -> None:
    """Refuses arguments that give two services one port.

    Raises:
        ValueError: they do.
    """
    taken: dict[Any, str] = {}
    for name, port in arguments.items():
        if name.endswith("_port") and not name.startswith(("min_", "max_")) and port:
            if port in taken:
                raise ValueError(f"{taken[port]} and {name} are both {port}: give each a port of its own")
            taken[port] = name


def _flags(arguments: dict[str, Any]) -> list[str]:
    """Returns the flags of ``eagleray start`` for the arguments of a node."""
    words = []
    _check_ports(arguments)
    for name, value in arguments.items():
        if value is None or name in ("env_vars", "insecure"):
            continue
        if name == "enable_object_reconstruction":
            if not value:
                raise ValueError(
                    "enable_object_reconstruction=False is not supported: objects that are lost are computed again, "
                    "unless their task has max_retries=0"
                )
            continue
        if _UNUSED.fullmatch(name):
            if value and name not in _said:
                _said.add(name)
                driver_log.warning(f"Cluster.add_node({name}=…) has no effect: {_UNUSED_WHY}.")
            continue
        if name in _TEXTS:
            words.append(f"--{name.replace('_', '-')}={value}")
        elif name in _JSON:
            words.append(f"{_JSON[name]}={json.dumps(value)}")
        elif name == "labels":
            words.append("--labels=" + ",".join(f"{key}={text}" for key, text in value.items()))
        else:
            raise TypeError(f"add_node() has no argument {name!r}")
    return words


def __getattr__(name: str) -> Any:
    raise missing.attribute(__name__, name, sys._getframe(1))
