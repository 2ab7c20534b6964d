"""The zygote: a process that forks workers. It has one thread, and Go never runs in it.

It imports what workers of its environment need, then waits on descriptor 3 for orders (docs/protocol.md) and forks a
worker for each. A fork costs milliseconds where a new interpreter with numpy costs a hundred.

A process with threads cannot be forked safely. If a library has started a thread in a zygote, the zygote starts again
in the same process without modules of third parties: it is *bare*. If a hook of the interpreter's start has started the
thread, the zygote starts again without those hooks: it is *plain*, and its workers run the hooks.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

try:
    from eagleray._private import native, ray_name
    from eagleray._private.calls import core, environments
    from eagleray._private.environments import arrangement
    from eagleray._private.session import sweep
    from eagleray._private.worker import heap, zygote_threads
except ImportError as problem:  # of an interpreter that a runtime environment names
    sys.exit(
        f"the interpreter {sys.executable} (Python {sys.version.split()[0]}) cannot run workers: {problem}. Install "
        "eagleray there, or at least its dependencies cloudpickle, msgpack and numpy for the same version of Python"
    )

if TYPE_CHECKING:
    from eagleray._private.worker.main import WorkerDefaults

CHANNEL = 3
_NAME = b"eagleray-zygote"
_daemon = os.getppid()
_mark = os.environ.get(sweep.MARK, "")
_MAX_PACKET = 64 << 10
_MAX_NOTE = 2000
#: The kernel's flag of a process that ends, in the ninth field of /proc/PID/stat. It is set before sockets close.
_PF_EXITING = 4
#: An argument that is ignored: its memory has room for what workers show as their command line.
_TITLE_ROOM = " " * 128
#: What every worker uses.
_OWN_MODULES = (
    "cloudpickle",
    "msgpack",
    "eagleray.runtime_context",
    "eagleray._private.session.api",
    "eagleray._private.session.decorator",
    "eagleray._private.session.driver",
    "eagleray._private.worker.main",
    "eagleray._private.worker.host",
)
#: What many workers use, imported when there is nothing else to do.
_OWN_MODULES_LATER = ("inspect", "traceback", "logging", "dataclasses")
_IDLE_MS = 100


def main() -> NoReturn:
    """Runs until the daemon closes the channel."""
    _name_process(_NAME)
    original = dict(os.environ)
    channel = socket.socket(fileno=CHANNEL)
    channel.set_inheritable(False)
    if "--setup-fd" in sys.argv:  # there may be workers already
        _watch_children(channel)
    setup = _receive_setup(channel)
    single = _Single(channel, setup, original)
    bare = bool(setup["bare"]) or bool({"--bare", "--plain"} & set(sys.argv))
    has_ray_name = ray_name.VARIABLE in os.environ
    logging_config = os.environ.get(environments.LOGGING_VARIABLE)
    fix_environment(os.environ, setup)
    arranged = _enter_paths(setup)
    if has_ray_name:
        _take_ray_name()
    if logging_config is not None:
        importlib.import_module("eagleray._private.job_logging").apply_variable(logging_config)
    preload = [] if bare or arrangement.is_foreign(setup) else setup["preload"]
    core.prepare()
    _import_modules(_OWN_MODULES, bare)
    single.check("", plain=True)
    _import_modules([name for name in preload if not name.endswith("?")], bare, single)

    from eagleray._private.worker import main as worker_main

    defaults = worker_main.worker_defaults(setup, dict(os.environ))
    if arranged is not None:
        arrangement.finish(os.environ, arranged)
    _warm_up(defaults)  # before the first fork: what is written to later is a copy in each worker
    _ready_to_fork()
    channel.send(b'{"op":"ready"}')
    later = [*_OWN_MODULES_LATER, *(name[:-1] for name in preload if name.endswith("?"))]

    def improve() -> None:
        _watch_children(channel)  # who ends meanwhile is told of at once
        _import_modules(later, bare, single)
        _ready_to_fork()
        native.release_code()
        signal.signal(signal.SIGCHLD, lambda *_: None)
        _reap(channel)

    _serve(channel, defaults, improve, single)


def _receive_setup(channel: socket.socket) -> dict[str, Any]:
    """The setup that the daemon sends first, or the one that the zygote before this one left."""
    if "--setup-fd" in sys.argv:
        fds = [int(sys.argv[sys.argv.index("--setup-fd") + 1])]
    else:
        packet, fds, _, _ = socket.recv_fds(channel, _MAX_PACKET, 4)
        if not packet:
            os._exit(0)
        if json.loads(packet)["op"] != "setup" or len(fds) != 1:
            raise RuntimeError(f"the daemon began with {packet!r}, not with a setup")
    with open(fds[0], "rb") as file:
        file.seek(0)
        setup: dict[str, Any] = json.load(file)
    setup["env"] = setup.get("env") or {}
    return setup


def fix_environment(environ: Any, setup: dict[str, Any]) -> None:
    """Makes the variables what user code is to see: the node's, the driver's on top, then the runtime environment's."""
    environments.as_users_see(environ)
    environ.update(setup.get("node_env") or {})  # without those that the driver sets
    environ.update(setup["env"])


def _enter_paths(setup: dict[str, Any]) -> arrangement.Arranged | None:
    arranged = arrangement.arrange(setup, sys.path) if setup.get("needs") else None
    path, cwd = (arranged.sys_path, arranged.cwd) if arranged is not None else (setup.get("sys_path"), setup["cwd"])
    if path:
        sys.path[:] = path
    try:
        os.chdir(cwd)
    except OSError as problem:
        print(f"the folder {cwd!r} of this environment cannot be entered: {problem}", file=sys.stderr)
    return arranged


def _take_ray_name() -> None:
    from eagleray._private import alias

    try:
        alias.install()
    except ImportError as problem:  # a hook of the interpreter's start has imported another package ray
        print(problem, file=sys.stderr)


def _import_modules(names: Iterable[str], bare: bool, single: _Single | None = None) -> None:
    """Imports modules, and begins anew if one of them leaves a thread and ``single`` is given."""
    saved = {name: os.environ.get(name) for name in environments.ONE_THREAD}
    if not bare:
        os.environ.update(environments.ONE_THREAD)
    try:
        for name in names:
            try:
                importlib.import_module(name)
            except Exception as problem:  # the task that needs it will say so
                print(f"could not import {name} ahead: {type(problem).__name__}: {problem}", file=sys.stderr)
            if single is not None:
                single.check(name)
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _warm_up(defaults: WorkerDefaults) -> None:
    try:
        from eagleray._private.worker import warmup

        warmup.warm_up(defaults)
    except Exception as problem:  # workers come up without it
        print(
            f"the zygote could not run through a worker's start: {type(problem).__name__}: {problem}", file=sys.stderr
        )


def _ready_to_fork() -> None:
    """Settles what this process has in memory, for its workers to share."""
    gc.collect()
    heap.trim()  # each worker would copy what malloc notes about these pages, and write to some
    gc.freeze()
    native.before_forks()


class _Single:
    """Keeps a zygote at one thread, whatever is imported.

    Args:
        channel: To the daemon.
        setup: What this zygote was told.
        environ: The variables that it was started with.
    """

    def __init__(self, channel: socket.socket, setup: dict[str, Any], environ: dict[str, str]) -> None:
        self._channel = channel
        self._setup = setup
        self._environ = environ
        self._told = False
        self._in_vain = False  # there are threads although nothing of third parties was loaded

    def check(self, module: str, plain: bool = False) -> None:
        """Begins anew, bare or plain, if there is another thread that does not end.

        Args:
            module: What was imported just now; empty if nothing was.
            plain: Nothing of third parties was imported, so that a hook of the interpreter's start is the cause.
        """
        if self._in_vain or zygote_threads.settle():
            return
        threads = zygote_threads.describe()
        if "--plain" in sys.argv:
            self._in_vain = True
            self._say(f"Workers are forked from a process with other threads, so some may hang: {threads}.")
            return
        if plain or "--bare" in sys.argv or self._setup["bare"]:
            self._say(
                f"The interpreter's start (sitecustomize, usercustomize or a .pth file) leaves a thread: {threads}. A "
                "process with threads cannot be forked, so each worker runs these hooks itself and starts more slowly."
            )
            self._begin_anew("--plain")
        what = f"Importing {module}" if module else "A library"
        self._say(
            f"{what} leaves a thread: {threads}. A process with threads cannot be forked, so each worker imports such "
            "modules itself, at its first task that needs them."
        )
        self._begin_anew("--bare")

    def _say(self, text: str) -> None:
        if not self._told:
            self._told = True
            self._channel.send(json.dumps({"op": "note", "text": text[:_MAX_NOTE]}).encode())

    def _begin_anew(self, how: str) -> NoReturn:
        """Replaces this process by a zygote without what has started threads. Workers stay its children."""
        fd = os.memfd_create("eagleray-setup", 0)
        os.write(fd, json.dumps(self._setup).encode())
        os.set_inheritable(fd, True)
        os.set_inheritable(CHANNEL, True)
        command = [sys.executable, "-m", "eagleray._private.worker.zygote", how, "--setup-fd", str(fd), _TITLE_ROOM]
        environ = dict(self._environ)
        if how == "--plain":
            command.insert(1, "-S")  # without site, which finds installed packages and runs the hooks
            environments.add_package(environ, self._setup.get("sys_path") or sys.path)
        signal.set_wakeup_fd(-1)
        os.execve(sys.executable, command, environ)


def _serve(channel: socket.socket, defaults: WorkerDefaults, improve: Callable[[], None], single: _Single) -> NoReturn:
    """Forks and reaps.

    Args:
        channel: To the daemon.
        defaults: What workers begin with.
        improve: Called once, at the first quiet moment.
        single: Sees to it that this process has one thread when it forks.
    """
    bell, ringer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ringer, warn_on_full_buffer=False)
    _reap(channel)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(bell, select.POLLIN)
    wait_ms: int | None = _IDLE_MS
    while True:
        events = poll.poll(wait_ms)
        if not events:
            wait_ms = None
            improve()
        for fd, _ in events:
            if fd == bell:
                os.read(bell, 4096)
                _reap(channel)
                continue
            single.check("")  # before the order is read: if this process begins anew it is read then
            packet, fds, _, _ = socket.recv_fds(channel, _MAX_PACKET, 8)
            if not packet:
                _orphaned()
            order = _understood(packet)
            if order.get("op") == "end":
                os._exit(0)
            if order.get("op") == "fork":
                _fork(channel, order, fds, defaults, (bell, ringer))
            for passed in fds:
                os.close(passed)


def _understood(packet: bytes) -> dict[str, Any]:
    """The order in a packet; an empty one if it is none that can be carried out, which is said once."""
    global _complained
    try:
        order: Any = json.loads(packet)
    except (ValueError, RecursionError):
        order = None
    if isinstance(order, dict):
        op = order.get("op")
        if op == "end" or (op == "fork" and all(isinstance(order.get(name), str) for name in ("token", "sock"))):
            return order
    if not _complained:
        _complained = True
        print(f"the zygote ignores a message that is not an order: {packet[:100]!r}", file=sys.stderr, flush=True)
    return {}


_complained = False


def _fork(
    channel: socket.socket,
    order: dict[str, Any],
    fds: list[int],
    defaults: WorkerDefaults,
    bells: tuple[int, int],
) -> None:
    try:
        pid = os.fork()
    except OSError as problem:
        channel.send(json.dumps({"op": "failed", "token": order["token"], "error": f"fork: {problem}"}).encode())
        return
    if pid == 0:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            channel.close()
            for fd in bells:
                os.close(fd)
            from eagleray._private.worker import main as worker_main

            worker_main.start(order["sock"], order["token"], fds, defaults)
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    handle = os.pidfd_open(pid)
    try:
        socket.send_fds(channel, [json.dumps({"op": "forked", "token": order["token"], "pid": pid}).encode()], [handle])
    finally:
        os.close(handle)


def _watch_children(channel: socket.socket) -> None:
    """Tells at once of workers that end, whatever this process is doing. Nothing may be forked meanwhile."""
    signal.signal(signal.SIGCHLD, lambda *_: _reap(channel))
    _reap(channel)


def _reap(channel: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        report = json.dumps({"op": "exit", "pid": pid, "status": os.waitstatus_to_exitcode(status)}).encode()
        try:
            channel.send(report)
        except (BrokenPipeError, ConnectionResetError):
            # An exception would leave a signal handler here, into whatever this process imports or sweeps just then.
            _orphaned()


def _orphaned() -> NoReturn:
    """The daemon is gone: nobody else can end workers that are stopped, and what tasks have started."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # nobody is told any more of workers that end
    deadline = time.monotonic() + 1
    # The daemon's sockets close before it has ended.
    while os.getppid() == _daemon and (time.monotonic() < deadline or _is_ending(_daemon)):
        time.sleep(0.005)
    if os.getppid() != _daemon:
        sweep.kill_processes(_mark, spared=frozenset({_NAME}))
    os._exit(0)


def _is_ending(pid: int) -> bool:
    """Whether a process has begun to end. On a busy machine it may take seconds from then until it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, *fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return True
    return state in (b"Z", b"X") or bool(int(fields[5]) & _PF_EXITING)


def _name_process(name: bytes) -> None:
    try:
        with open("/proc/self/comm", "wb") as file:
            file.write(name)
    except OSError:
        pass


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        os._exit(0)
    except (BrokenPipeError, ConnectionResetError):
        _orphaned()
