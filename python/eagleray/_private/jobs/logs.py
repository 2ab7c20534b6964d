"""Reads the logs of jobs, on whichever node they are."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator

import eagleray
from eagleray import exceptions
from eagleray._private.jobs.manager import Manager
from eagleray._private.jobs.model import JobInfo
from eagleray._private.jobs.records import log_path
from eagleray._private.state import process
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

_PIECE = 1 << 20
_MOST = 64 << 20
_PAUSE = 0.2
_QUIET = 5.0
_ANSWER_SECONDS = 60.0


class Unreadable(RuntimeError):
    """The log of a job cannot be read, and the message says why."""


def whole(manager: Manager, name: str) -> str:
    """Returns the log of a job. Of a very long one the end is returned, and the first line says so.

    Raises:
        Unreadable: its node is gone.
    """
    submission_id, record = manager.record(name)
    if record.driver_node_id is None:
        return ""
    size, _ = _read(record, submission_id, 0, 0)
    offset = max(0, size - _MOST)
    pieces = [f"[the first {offset} bytes of the log are left out here]\n".encode()] if offset else []
    while True:
        _, piece = _read(record, submission_id, offset, _PIECE)
        if not piece:
            return b"".join(pieces).decode(errors="replace")
        pieces.append(piece)
        offset += len(piece)
        if offset > size + _MOST:
            return b"".join(pieces).decode(errors="replace")


def follow(manager: Manager, name: str) -> Iterator[str]:
    """Returns what a job writes, from the beginning of its log until the job has ended.

    An empty text now and then says that there is nothing new.

    Raises:
        Unreadable: its node is gone.
    """
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    offset, last = 0, time.monotonic()
    while True:
        submission_id, record = manager.record(name)
        if record.driver_node_id is not None:
            while True:
                _, piece = _read(record, submission_id, offset, _PIECE)
                if not piece:
                    break
                offset += len(piece)
                last = time.monotonic()
                yield decode(piece)
        if record.status.is_terminal():
            yield decode(b"", True)
            return
        if time.monotonic() - last > _QUIET:
            last = time.monotonic()
            yield ""
        time.sleep(_PAUSE)


def _read(record: JobInfo, submission_id: str, offset: int, length: int) -> tuple[int, bytes]:
    """Returns the size of a log, and a piece of it."""
    session = process.require()
    if record.driver_node_id == session.node_id.hex():
        return read_piece(submission_id, offset, length)
    assert record.driver_node_id is not None
    reader = eagleray.remote(num_cpus=0, max_retries=0)(read_piece).options(
        scheduling_strategy=NodeAffinitySchedulingStrategy(record.driver_node_id, soft=False)
    )
    try:
        found: tuple[int, bytes] = eagleray.get(reader.remote(submission_id, offset, length), timeout=_ANSWER_SECONDS)
        return found
    except exceptions.RayError as problem:
        raise Unreadable(
            f"the log of {submission_id} is on node {record.driver_node_id}, which does not give it: {problem}"
        ) from None


def read_piece(submission_id: str, offset: int, length: int) -> tuple[int, bytes]:
    """Returns the size of a log of this node, and a piece of it."""
    try:
        with open(log_path(process.require().session_dir, submission_id), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            return size, file.read(length)
    except FileNotFoundError:
        return 0, b""
