"""Finding a daemon to join, and starting one that ends with this process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import socket
import stat
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from eagleray._private.session import store_memory, sweep

_READY_SECONDS = 30.0
_STOP_SECONDS = 5.0
#: sockaddr_un holds 107 characters; the longest name in a session's folder is p/<24 hex>.sock.
_LONGEST_SOCKET = 107
_SOCKET_TAIL = len("/s-0123456789/p/0123456789abcdef01234567.sock")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(_PACKAGE, "_bin", "eagleray")


def base_dir(root: str | None = None) -> str:
    """Returns the folder of this user's sessions, below ``root`` or where the variables say; makes it, mode 0700."""
    uid = os.getuid()
    root = root or os.environ.get("EAGLERAY_TMPDIR") or os.environ.get("RAY_TMPDIR") or "/tmp"
    base = os.path.join(os.path.abspath(root), f"eagleray-{uid}")
    if len(base) + _SOCKET_TAIL > _LONGEST_SOCKET:
        room = _LONGEST_SOCKET - _SOCKET_TAIL - len(base) + len(os.path.abspath(root))
        raise ValueError(
            f"the folder {root!r} has too long a name for sockets: give EAGLERAY_TMPDIR or _temp_dir one of at most "
            f"{room} characters"
        )
    os.makedirs(base, mode=0o700, exist_ok=True)
    found = os.lstat(base)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid:
        raise PermissionError(
            f"{base} belongs to user {found.st_uid}, not to you ({uid}): remove it or set EAGLERAY_TMPDIR"
        )
    if found.st_mode & 0o022:
        raise PermissionError(
            f"other users may write into {base} (mode {stat.S_IMODE(found.st_mode):04o}), so what lies in it may be "
            "theirs: end what you have started there, and remove it"
        )
    if found.st_mode & 0o077:
        os.chmod(base, 0o700)
    return base


def resolve(address: str | None) -> str | None:
    """Returns the session folder to join for ``address``; None if this process is to start its own daemon.

    Raises:
        ConnectionError: no session runs at the given address.
    """
    named = {"address": address, **{name: os.environ.get(name) for name in ("EAGLERAY_ADDRESS", "RAY_ADDRESS")}}
    source, given = next(((name, value) for name, value in named.items() if value), ("address", None))
    if given == "local":
        return None
    if given is None or given == "auto":
        found = _left_running()
        if found is None and given == "auto":
            raise ConnectionError(
                "Could not find any running Eagle Ray instance on this machine: start one with "
                "`eagleray start --head`, or leave the address out."
            )
        return found
    folder = os.path.dirname(given) if given.endswith("/d.sock") else given
    if folder.startswith("/"):
        if not _answers(folder):
            raise ConnectionError(
                f"No Eagle Ray daemon answers at {folder!r}; `eagleray status` shows what runs on this machine."
            )
        return folder
    from eagleray._private.session import heads  # few programs need it

    if given.startswith("ray://"):
        raise ConnectionError(
            f"{source} {given!r}: there is no Ray Client here. Run the program on a machine of the cluster with the "
            "address 'auto'; `eagleray start --address=HOST:PORT` adds this machine."
        )
    if heads.all_of(given) is None:
        raise ConnectionError(
            f"{source} {given!r} is not a session of this machine: use 'auto', 'local', HOST:PORT of a head (several "
            "with commas between them), or the path that `eagleray start` printed."
        )
    node = heads.node_of(given, running())
    if node is None:
        raise ConnectionError(
            f"{source} {given!r}: no node of that cluster runs on this machine below {base_dir()}. Programs work on a "
            f"node of their own machine: add this machine with `eagleray start --address={given}` first, or set "
            "EAGLERAY_TMPDIR to the folder that `eagleray start` was given with --temp-dir."
        )
    return node


#: The variable with the session of the first node of the ``Cluster`` that this program, or the one that has started
#: it, has begun last.
LOCAL_CLUSTER = "EAGLERAY_LOCAL_CLUSTER"


def _left_running() -> str | None:
    """Returns the session of this program's ``Cluster``, or that ``eagleray start`` left running, if it answers."""
    candidates = (os.environ.get(LOCAL_CLUSTER), _current())
    return next((folder for folder in candidates if folder and _answers(folder)), None)


def _current() -> str:
    """Returns the session that ``eagleray start`` left running; an empty text if there is none."""
    try:
        with open(os.path.join(base_dir(), "current"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def running() -> list[str]:
    """Returns the folders of this user's sessions that answer, the one that ``auto`` means first."""
    base, current = base_dir(), _current()
    found = sorted(os.path.join(base, name) for name in os.listdir(base) if name.startswith("s-"))
    found.sort(key=lambda folder: folder != current)
    return [folder for folder in found if _answers(folder)]


def _answers(folder: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.path.join(folder, "d.sock"))
            return True
        except OSError:
            return False


class Daemon:
    """An embedded daemon: a child of this process that ends with this process, however that ends."""

    def __init__(self, folder: str, child: subprocess.Popen[bytes], lifeline: socket.socket, said: io.FileIO) -> None:
        self.folder = folder
        self._child = child
        self._lifeline = lifeline
        self._said = said
        self._store = -1  # a descriptor of the store's memory, see store_memory

    @classmethod
    def start(cls, config: Mapping[str, Any], root: str | None = None) -> Daemon:
        """Starts a daemon with its session below ``root``; ``await_ready`` waits until it listens.

        Raises:
            RuntimeError: the daemon's binary is missing.
        """
        binary = os.environ.get("EAGLERAY_BIN") or BINARY
        if not os.access(binary, os.X_OK):
            raise RuntimeError(
                f"the daemon's binary {binary!r} is missing: reinstall eagleray, or run `make dev` in a clone"
            )
        store_memory.await_freed()
        # The daemon makes the folder: if either process is killed from now on, the other one removes it.
        folder = os.path.join(base_dir(root), "s-" + os.urandom(5).hex())
        mine, its = socket.socketpair()
        said = io.FileIO(os.memfd_create("eagleray-daemon-says"))
        try:
            with its, contextlib.ExitStack() as stack:
                # The lifeline has the same number in the child: subprocess passes descriptors with their numbers.
                command = [binary, "daemon", "--embedded", "--own-log", "--parent-fd", str(its.fileno())]
                text = json.dumps({**config, "parent_pid": os.getpid()})
                long = len(text) > _LONG_CONFIG
                command += ["--session-dir", folder, "--config", "-" if long else text]
                child = subprocess.Popen(
                    command,
                    stdin=stack.enter_context(_in_memory(text.encode())) if long else subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    cwd="/",
                    pass_fds=(its.fileno(),),
                    start_new_session=True,
                )
        except BaseException:
            mine.close()
            said.close()
            raise
        return cls(folder, child, mine, said)

    def await_ready(self) -> None:
        """Waits until the daemon listens.

        Raises:
            ValueError: the daemon refuses its configuration.
            RuntimeError: the daemon did not start; the message contains the daemon's output.
        """
        line = b""
        deadline = time.monotonic() + _READY_SECONDS
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._lifeline], [], [], left)[0]:
                self._child.kill()
                raise RuntimeError(
                    f"the daemon did not say within {_READY_SECONDS:.0f} s that it is ready{self._log_tail()}"
                )
            piece, descriptors, _, _ = socket.recv_fds(self._lifeline, 4096, 1, socket.MSG_CMSG_CLOEXEC)
            if descriptors:
                self._store = descriptors[0]
                store_memory.hold(self._store)
            if not piece:
                raise RuntimeError(f"the daemon ended while it started{self._log_tail()}")
            line += piece
        if line != b"ready\n":
            kind, _, text = line.decode(errors="replace").strip().partition(": ")
            if kind == "invalid":
                raise ValueError(text)
            raise RuntimeError(f"the daemon did not start: {text or kind}")
        self._said.close()  # everything else is in the daemon's log

    def _log_tail(self) -> str:
        text = os.pread(self._said.fileno(), 2000, 0)  # output from before the daemon has opened its log
        with contextlib.suppress(OSError), open(os.path.join(self.folder, "logs", "daemon.log"), "rb") as log:
            text += log.read()
        tail = text[-2000:].decode(errors="replace").strip()
        return f"; its log ends with:\n{tail}" if tail else ""

    def stop(self, exiting: bool = False) -> None:
        """Ends the daemon and everything that it started. With `exiting` this process's end closes the descriptors."""
        self._lifeline.close()
        self._said.close()
        try:
            self._child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.returncode != 0:
            sweep.kill_processes(os.path.basename(self.folder))
        _remove(self.folder)
        if self._store >= 0 and not exiting:
            descriptor, self._store = self._store, -1
            store_memory.let_go(descriptor)


#: The largest configuration that is passed as an argument. The daemon reads a longer one from its standard input.
_LONG_CONFIG = 64 << 10


def _in_memory(text: bytes) -> io.FileIO:
    """Returns a file that has this content and no name."""
    made = io.FileIO(os.memfd_create("eagleray-config"), "r+")
    try:
        view = memoryview(text)
        while view:
            view = view[made.write(view) :]
        made.seek(0)
    except BaseException:
        made.close()
        raise
    return made


def _remove(folder: str) -> None:
    """Removes a session's folder. The daemon has usually done that already."""
    if os.path.isdir(folder):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
