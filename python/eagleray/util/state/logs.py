"""The files in which the processes of a node write: their list, and what is in them, on this node and on others."""

from __future__ import annotations

import fnmatch
import io
import os
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from eagleray._private.sections import is_text
from eagleray._private.session import api, census, task_logs
from eagleray._private.session.decorator import remote
from eagleray._private.state import process
from eagleray.exceptions import GetTimeoutError, RayTaskError
from eagleray.util.state.common import DEFAULT_RPC_TIMEOUT
from eagleray.util.state.exception import RayStateApiException

#: Bytes that one question for a file gives at most.
_PART = 1 << 20
#: Files beyond these are not listed.
_MOST_FILES = 100_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_KINDS = {"daemon.log": "raylet", "head.log": "gcs_server", "warden.log": "internal"}


class _Place(NamedTuple):
    """A node, and the folder of its session when it is this machine's."""

    node_id: str
    folder: str | None


def list_logs(
    address: str | None = None,
    node_id: str | None = None,
    node_ip: str | None = None,
    glob_filter: str | None = None,
    timeout: int = DEFAULT_RPC_TIMEOUT,
) -> dict[str, list[str]]:
    """The files of logs on a node.

    Args:
        address: As in ``init``; None: this process's session, else the one that runs on this machine.
        node_id: The node, or
        node_ip: its address.
        glob_filter: A pattern for names, as ``"*.err"``.
        timeout: Seconds to wait for the answer.

    Returns:
        Names by kind: ``worker_out`` and ``worker_err`` (``worker-PID.out``), ``raylet`` (the daemon), ``gcs_server``
        (the head), ``internal``.

    Raises:
        RayStateApiException: there is no such node, or it does not answer.
        AssertionError: neither node_id nor node_ip is given.
    """
    assert node_id is not None or node_ip is not None, "list_logs() needs node_id= or node_ip="
    place = _find(address, node_id, node_ip, timeout)
    found: dict[str, list[str]] = {}
    for name in _on(place, timeout, _names):
        if fnmatch.fnmatchcase(name, glob_filter or "*"):
            found.setdefault(_kind(name), []).append(name)
    return found


def get_log(
    address: str | None = None,
    node_id: str | None = None,
    node_ip: str | None = None,
    filename: str | None = None,
    actor_id: str | None = None,
    task_id: str | None = None,
    pid: int | None = None,
    follow: bool = False,
    tail: int = -1,
    timeout: int = DEFAULT_RPC_TIMEOUT,
    suffix: str = "out",
    encoding: str | None = "utf-8",
    errors: str | None = "strict",
    submission_id: str | None = None,
    attempt_number: int = 0,
    _interval: float | None = None,
    filter_ansi_code: bool = False,
) -> Iterator[Any]:
    """What is in a file of logs.

    Args:
        address: As in ``init``; None: this process's session, else the one that runs on this machine.
        node_id: The node, or
        node_ip: its address; this node when there is neither, and for an actor the node on which it runs.
        filename: A name that ``list_logs`` gives, or
        actor_id: the actor whose process has written, or
        pid: that process.
        task_id: a task or a call of an actor: what its latest attempt has written with Python's ``print`` and
            ``sys.stdout``, and what it wrote past these after that.
        follow: Go on with what is written later, without end; a file that is not there yet is waited for.
        tail: How many lines of the end; all when negative.
        timeout: Seconds to wait for each answer.
        suffix: ``"out"`` or ``"err"`` of an actor, a task or a process.
        encoding: Of the text; None gives bytes.
        errors: As of ``bytes.decode``.
        submission_id: A submitted job: what its entrypoint has written. Needs a program that has called ``init``.
        attempt_number: Which attempt of the task, from 0. Only the log of the latest one is told apart from others.
        filter_ansi_code: Whether to leave out the codes that colour text.

    Returns:
        Parts of the text, each of whole lines.

    Raises:
        RayStateApiException: there is no such node, actor, task or file, or the node does not answer.
        ValueError: an argument is wrong.
    """
    if suffix not in ("out", "err"):
        raise ValueError(f"suffix must be 'out' or 'err', got {suffix!r}")
    if isinstance(tail, bool) or not isinstance(tail, int):
        raise TypeError(f"tail must be a number of lines, got {tail!r}")
    named = {
        "filename": filename,
        "actor_id": actor_id,
        "task_id": task_id,
        "pid": pid,
        "submission_id": submission_id,
    }
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        raise ValueError(
            "get_log() needs one of filename=, actor_id=, task_id=, pid= and submission_id=, "
            f"got {', '.join(given) or 'none'}"
        )
    if task_id is not None:
        place, name = _file_of_task(address, task_id, attempt_number, suffix, timeout)
        return _parts_of_task(
            place,
            timeout,
            name,
            task_id,
            tail,
            follow,
            _interval or 0.5,
            encoding,
            errors or "strict",
            filter_ansi_code,
        )
    if submission_id is not None:
        node_id, filename = _log_of_job(address, submission_id)
    if actor_id is not None:
        from eagleray.util.state.api import get_actor

        actor = get_actor(actor_id, address, timeout)
        if actor is None or not actor.pid:
            raise RayStateApiException(f"no actor {actor_id} has a process")
        node_id, pid = actor.node_id, actor.pid
    name = filename if filename is not None else f"worker-{pid}.{suffix}"
    if not name or os.path.basename(name) != name or name in (".", ".."):
        raise ValueError(f"filename must be a name that list_logs() gives, got {name!r}")
    place = _find(address, node_id, node_ip, timeout)
    start = 0 if tail < 0 else _on(place, timeout, _start_of, name, tail, follow)
    return _parts(place, timeout, name, start, follow, _interval or 0.5, encoding, errors or "strict", filter_ansi_code)


def _file_of_task(
    address: str | None, task_id: str, attempt_number: int, suffix: str, timeout: float
) -> tuple[_Place, str]:
    """The node and the file in which the latest attempt of a task has written."""
    from eagleray.util.state.api import get_task

    if re.fullmatch("[0-9a-f]{48}", task_id) is None:
        raise ValueError(f"task_id must be the 48 hexadecimal digits of a task's id, got {task_id!r}")
    task = get_task(task_id, address, timeout)
    if task is not None and task.attempt_number != attempt_number:
        raise RayStateApiException(
            f"the log of attempt {attempt_number} of task {task_id} cannot be told apart from others: its latest "
            f"attempt is {task.attempt_number}, which attempt_number={task.attempt_number} shows"
        )
    if task is not None and task.worker_pid:
        return _find(address, task.node_id, None, timeout), f"worker-{task.worker_pid}.{suffix}"
    found = []
    for node in _find_all(address, timeout):
        found += [(node, name) for name in _on(node, timeout, task_logs.files_of, task_id, suffix)]
    if len(found) > 1:
        names = ", ".join(f"{name} of node {node.node_id}" for node, name in found)
        raise RayStateApiException(f"task {task_id} has written into several files, read one of them: {names}")
    if not found:
        what = "is not known" if task is None else f"is {task.state}, its worker is not known any more or not yet"
        raise RayStateApiException(
            f"Could not find log file for task: {task_id} (attempt {attempt_number}) with suffix: {suffix}. The task "
            f"{what}, and no worker's file of a node that can be read has lines of it"
        )
    return found[0]


def _find_all(address: str | None, timeout: float) -> list[_Place]:
    """The nodes whose files can be read: this one, and in a session all others."""
    rows = [row for row in census.take(address, timeout, head=True).nodes() if row["state"] == "ALIVE"]
    places = [_find(address, row["node_id"], None, timeout) for row in rows]
    return [place for place in places if place.folder is not None or process.session is not None]


def _parts_of_task(
    place: _Place,
    timeout: float,
    name: str,
    task_id: str,
    tail: int,
    follow: bool,
    interval: float,
    encoding: str | None,
    errors: str,
    plain: bool,
) -> Iterator[Any]:
    text, _, reading = _on(place, timeout, task_logs.read, name, task_id, None, follow)
    text = task_logs.last_lines(text, tail)
    while True:
        if text:
            yield _shown(text, encoding, errors, plain)
        if not follow:
            return
        time.sleep(interval)
        text, _, reading = _on(place, timeout, task_logs.read, name, task_id, reading, follow)


def _log_of_job(address: str | None, submission_id: str) -> tuple[str, str]:
    """The node and the file of a submitted job."""
    session = process.session
    if session is None or address not in (None, "auto", session.session_dir):
        raise RayStateApiException(
            "where the log of a submitted job is, the cluster tells its programs only: call init() first, or use "
            "JobSubmissionClient.get_job_logs(submission_id)"
        )
    from eagleray._private.jobs import listing

    try:
        return listing.log_of(session, submission_id)
    except LookupError as problem:
        raise RayStateApiException(str(problem)) from None


def _parts(
    place: _Place,
    timeout: float,
    name: str,
    at: int,
    follow: bool,
    interval: float,
    encoding: str | None,
    errors: str,
    plain: bool,
) -> Iterator[Any]:
    rest: list[bytes] = []  # of a line whose end has not come
    while True:
        data: bytes = _on(place, timeout, _read, name, at, follow)
        at += len(data)
        whole, newline, after = data.rpartition(b"\n")
        text = b""
        if newline or not (data or follow):  # the last line may have no end
            text = b"".join([*rest, whole, newline])
            rest.clear()
        if after:
            rest.append(after)
        text = task_logs.without_marks(text)
        if text:
            yield _shown(text, encoding, errors, plain)
        if not data:
            if not follow:
                return
            time.sleep(interval)


def _shown(data: bytes, encoding: str | None, errors: str, plain: bool) -> Any:
    if encoding is None:
        return data
    text = data.decode(encoding, errors)
    return _ANSI.sub("", text) if plain else text


def _kind(name: str) -> str:
    for end, kind in ((".out", "worker_out"), (".err", "worker_err")):
        if name.startswith("worker-") and end in name:
            return kind
    return _KINDS.get(name, "internal")


def _find(address: str | None, node_id: str | None, node_ip: str | None, timeout: float) -> _Place:
    """The node that is meant."""
    session = process.session
    found = census.take(address, timeout, head=True)
    own = bytes(found.raw["NodeID"]).hex()
    if node_id is None and node_ip is None:
        node_id = own
    alive = [row for row in found.nodes() if row["state"] == "ALIVE"]
    matching = [row for row in alive if node_id in (None, row["node_id"]) and node_ip in (None, row["node_ip"])]
    if not matching:
        what = f"id {node_id}" if node_id is not None else f"address {node_ip}"
        raise RayStateApiException(f"no living node has the {what}")
    if node_id is None and len(matching) > 1:
        raise RayStateApiException(f"{len(matching)} nodes have the address {node_ip}: say which with node_id=")
    chosen = matching[0]["node_id"]
    if chosen != own:
        return _Place(chosen, None)
    if session is not None and address in (None, "auto", session.session_dir):
        return _Place(chosen, session.session_dir)
    return _Place(chosen, census.find(address))


def _on(place: _Place, timeout: float, function: Any, *args: Any) -> Any:
    """Calls a function on the node: here, or in a task there."""
    if place.folder is not None:
        return function(place.folder, *args)
    if process.session is None:
        raise RayStateApiException(
            f"the logs of node {place.node_id}, which is another machine's, are read by a task there: call init() first"
        )
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = remote(_there).options(
        num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(place.node_id, soft=False), name="logs"
    )
    try:
        return api.get(there.remote(function, *args), timeout=timeout)
    except GetTimeoutError:
        raise RayStateApiException(f"node {place.node_id} has not answered within {timeout:g} s") from None
    except RayTaskError as error:
        if isinstance(error.cause, RayStateApiException):
            raise RayStateApiException(str(error.cause)) from None
        raise


def _there(function: Any, *args: Any) -> Any:
    return function(process.require().session_dir, *args)


def _names(folder: str) -> list[str]:
    with os.scandir(os.path.join(folder, "logs")) as entries:
        return sorted(one.name for _, one in zip(range(_MOST_FILES), entries, strict=False) if one.is_file())


def _open(folder: str, name: str, may_lack: bool = False) -> Any:
    try:
        if may_lack and not os.path.lexists(os.path.join(folder, "logs", name)):
            return io.BytesIO()
        return task_logs.open_log(folder, name)
    except OSError as problem:
        raise RayStateApiException(f"the log {name} cannot be read on its node: {problem.strerror}") from None


def _read(folder: str, name: str, at: int, may_lack: bool = False) -> bytes:
    with _open(folder, name, may_lack) as file:
        file.seek(at)
        data: bytes = file.read(_PART)
        return data


def _start_of(folder: str, name: str, lines: int, may_lack: bool = False) -> int:
    """Where the last lines of a file begin. Lines that only say who writes are not counted."""
    with _open(folder, name, may_lack) as file:
        at = size = int(file.seek(0, os.SEEK_END))
        if lines == 0:
            return size
        seen, after = 0, b""
        while at > 0:
            step = min(at, 1 << 16)
            at -= step
            file.seek(at)
            block = file.read(step) + after
            end = block.rfind(b"\n", 0, step)
            while end >= 0:
                if at + end + 1 < size and is_text(block[end + 1 : end + 3]):
                    seen += 1
                    if seen == lines:
                        return int(at + end + 1)
                end = block.rfind(b"\n", 0, end)
            after = block[:2]
        return 0
