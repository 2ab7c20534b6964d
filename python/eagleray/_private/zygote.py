"""The zygote: forks workers. One thread, no Go in it.

It imports what workers of its environment need, then waits on descriptor 3 for orders (docs/protocol.md) and forks a
worker for each. A fork costs milliseconds where a new interpreter with numpy costs a hundred.
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
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from eagleray._private import core, environments, heap, native, sweep

if TYPE_CHECKING:
    from eagleray._private.worker_main import Outfit

CHANNEL = 3
_NAME = b"eagleray-zygote"
_daemon = os.getppid()
_mark = os.environ.get(sweep.MARK, "")
_MAX_PACKET = 64 << 10
#: What every worker uses.
_OWN_MODULES = (
    "cloudpickle",
    "msgpack",
    "eagleray.runtime_context",
    "eagleray._private.api",
    "eagleray._private.decorator",
    "eagleray._private.session",
    "eagleray._private.worker_main",
    "eagleray._private.worker_actor",
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
    setup = _receive_setup(channel)
    bare = bool(setup["bare"]) or "--bare" in sys.argv
    fix_environment(os.environ, setup)
    _enter_paths(setup)
    preload = [] if bare else setup["preload"]
    core.prepare()
    _import_modules([*_OWN_MODULES, *(name for name in preload if not name.endswith("?"))], bare)
    _stay_single(setup, original)

    from eagleray._private import worker_main

    given = worker_main.outfit(setup, dict(os.environ))
    _rehearse(given)  # now: what is written to later the first workers would have for themselves
    _ready_to_fork()
    channel.send(b'{"op":"ready"}')
    later = [*_OWN_MODULES_LATER, *(name[:-1] for name in preload if name.endswith("?"))]

    def improve() -> None:
        _import_modules(later, bare)
        _stay_single(setup, original)
        _ready_to_fork()
        native.rest()

    _serve(channel, given, improve)


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
    """Makes the variables what user code is to see: the driver's, and the runtime environment's on top."""
    environments.as_users_see(environ)
    environ.update(setup["env"])


def _enter_paths(setup: dict[str, Any]) -> None:
    if setup.get("sys_path"):
        sys.path[:] = setup["sys_path"]
    try:
        os.chdir(setup["cwd"])
    except OSError as problem:
        print(f"the folder {setup['cwd']!r} of this environment cannot be entered: {problem}", file=sys.stderr)


def _import_modules(names: list[str], bare: bool) -> None:
    saved = {name: os.environ.get(name) for name in environments.ONE_THREAD}
    if not bare:
        os.environ.update(environments.ONE_THREAD)
    try:
        for name in names:
            try:
                importlib.import_module(name)
            except Exception as problem:  # the task that needs it will say so
                print(f"could not import {name} ahead: {type(problem).__name__}: {problem}", file=sys.stderr)
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _rehearse(given: Outfit) -> None:
    try:
        from eagleray._private import rehearsal

        rehearsal.rehearse(given)
    except Exception as problem:  # workers come up without it
        print(f"could not rehearse a worker's start: {type(problem).__name__}: {problem}", file=sys.stderr)


def _ready_to_fork() -> None:
    """Settles what this process has in memory, for its workers to share."""
    gc.collect()
    heap.trim()  # each worker would copy what is known of these pages, and write to some
    gc.freeze()
    native.forking()


def _stay_single(setup: dict[str, Any], environ: dict[str, str]) -> None:
    """If some module has started a thread, begins anew without modules of third parties. Workers stay children."""
    if len(os.listdir("/proc/self/task")) == 1:
        return
    if "--bare" in sys.argv:
        raise RuntimeError("a bare zygote has more than one thread")
    fd = os.memfd_create("eagleray-setup", 0)
    os.write(fd, json.dumps(setup).encode())
    os.set_inheritable(fd, True)
    os.set_inheritable(CHANNEL, True)
    os.execve(
        sys.executable, [sys.executable, "-m", "eagleray._private.zygote", "--bare", "--setup-fd", str(fd)], environ
    )


def _serve(channel: socket.socket, outfit: Outfit, improve: Callable[[], None]) -> NoReturn:
    """Forks and reaps.

    Args:
        channel: To the daemon.
        outfit: What workers begin with.
        improve: Called once, at the first quiet moment.
    """
    bell, ringer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ringer, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(bell, select.POLLIN)
    patience: int | None = _IDLE_MS
    while True:
        events = poll.poll(patience)
        if not events:
            patience = None
            improve()
        for fd, _ in events:
            if fd == bell:
                os.read(bell, 4096)
                _reap(channel)
                continue
            packet, fds, _, _ = socket.recv_fds(channel, _MAX_PACKET, 8)
            if not packet:
                _orphaned()
            order = _understood(packet)
            if order.get("op") == "end":
                os._exit(0)
            if order.get("op") == "fork":
                _fork(channel, order, fds, outfit, (bell, ringer))
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
        print(f"the zygote ignores what is no order: {packet[:100]!r}", file=sys.stderr, flush=True)
    return {}


_complained = False


def _fork(
    channel: socket.socket,
    order: dict[str, Any],
    fds: list[int],
    outfit: Outfit,
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
            from eagleray._private import worker_main

            worker_main.start(order["sock"], order["token"], fds, outfit)
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


def _reap(channel: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        channel.send(json.dumps({"op": "exit", "pid": pid, "status": os.waitstatus_to_exitcode(status)}).encode())


def _orphaned() -> NoReturn:
    """The daemon is gone: nobody else can end workers that are stopped, and what tasks have started."""
    deadline = time.monotonic() + 1
    while os.getppid() == _daemon and time.monotonic() < deadline:  # its sockets close before it has ended
        time.sleep(0.005)
    if os.getppid() != _daemon:
        sweep.session(_mark, spared=frozenset({_NAME}))
    os._exit(0)


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
