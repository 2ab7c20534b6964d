"""The server of jobs alone, asked through its socket: each request has one answer, whatever its body is."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from eagleray._private.jobs import server


class Jobs:
    """Stands for the manager."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def every(self) -> list[Any]:
        return []

    def stop(self, name: str) -> bool:
        return True

    def delete(self, name: str) -> None:
        self.deleted.append(name)


@contextlib.contextmanager
def serving(jobs: Jobs) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "s")
        listener.bind(path)
        listener.listen()
        made = server.Server(jobs, listener)  # type: ignore[arg-type]
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield path
        finally:
            made.shutdown()
            thread.join()


def answers(path: str, request: bytes) -> bytes:
    """Returns all that the server says until it closes the connection."""
    said = b""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(20)
        line.connect(path)
        line.sendall(request)
        with contextlib.suppress(ConnectionResetError):
            while piece := line.recv(1 << 16):
                said += piece
    return said


HIDDEN = b"DELETE /api/jobs/victim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(HIDDEN)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(HIDDEN)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /api/jobs HTTP/1.1\r\nHost: x\r\n" + LENGTH, b"200"),
        (b"DELETE /api/jobs/own HTTP/1.1\r\nHost: x\r\n" + LENGTH, b"200"),
        (b"POST /api/jobs HTTP/1.1\r\nHost: x\r\n" + CHUNKED, b"411"),
        (b"POST /api/jobs/own/stop HTTP/1.1\r\nHost: x\r\n" + CHUNKED, b"411"),
        (b"POST /api/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n", b"413"),
    ],
)
def test_a_body_that_is_not_read_is_no_request(head: bytes, status: bytes) -> None:
    jobs = Jobs()
    with serving(jobs) as path:
        said = answers(path, head + HIDDEN)
    assert said.startswith(b"HTTP/1.1 " + status)
    assert said.count(b"HTTP/1.1 ") == 1
    assert "victim" not in jobs.deleted


def test_a_connection_goes_on_after_a_body_that_was_read() -> None:
    jobs = Jobs()
    stop = b"POST /api/jobs/own/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    with serving(jobs) as path:
        said = answers(path, stop + HIDDEN)
    assert said.count(b"HTTP/1.1 200") == 2
    assert jobs.deleted == ["victim"]
