"""The server of jobs: a program of the cluster that answers over HTTP what ``core/internal/jobweb`` passes on.

It listens at a Unix socket that it inherits, so the token was checked and the bodies are bounded when a request comes
here. It ends when its input does: the head starts it and keeps the other end.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import eagleray
from eagleray._private.jobs import logs, requests
from eagleray._private.jobs.manager import Manager, NotFound, NotSubmitted, Refused
from eagleray._private.session import census
from eagleray._version import API_VERSION

#: The descriptor of the listener.
_LISTENER = 3
_MOST_BODY = 1 << 20
_END_SECONDS = 3.0
#: The version of this API, as Ray counts it.
_API = "4"
_log = logging.getLogger("eagleray.jobs")


class Problem(Exception):
    """An answer that is an error.

    Args:
        status: Of HTTP.
        text: What is wrong.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    manager: Manager
    _unread = False  # whether the request has a body that was not read

    def parse_request(self) -> bool:
        """Reads the head of a request."""
        read = super().parse_request()
        self._unread = read and ("Content-Length" in self.headers or "Transfer-Encoding" in self.headers)
        return read

    def do_GET(self) -> None:
        """Answers a question."""
        match self._words():
            case ["version"]:
                session = eagleray.get_runtime_context().get_session_name()
                self._json({"version": _API, "ray_version": API_VERSION, "ray_commit": "", "session_name": session})
            case ["jobs"]:
                self._guarded(lambda: self._json([row.dict() for row in self.manager.every()]))
            case ["jobs", name]:
                self._guarded(lambda: self._json(self.manager.details(name).dict()))
            case ["jobs", name, "logs"]:
                self._guarded(lambda: self._json({"logs": logs.whole(self.manager, name)}))
            case ["jobs", name, "logs", "tail"]:
                self._guarded(lambda: self._tail(name))
            case ["packages", protocol, name]:
                self._guarded(lambda: self._package(protocol, name))
            case _:
                self._unknown()

    def do_POST(self) -> None:
        """Starts or stops a job."""
        match self._words():
            case ["jobs"]:
                self._guarded(self._submit)
            case ["jobs", name, "stop"]:
                self._guarded(lambda: self._stop(name))
            case _:
                self._unknown()

    def do_PUT(self) -> None:
        """Takes an uploaded package."""
        match self._words():
            case ["packages", protocol, name]:
                self._guarded(lambda: self._keep(protocol, name))
            case _:
                self._unknown()

    def do_DELETE(self) -> None:
        """Removes the record of a job."""
        match self._words():
            case ["jobs", name]:
                self._guarded(lambda: self._delete(name))
            case _:
                self._unknown()

    def _words(self) -> list[str]:
        path = urlsplit(self.path).path.removeprefix("/api/").rstrip("/")
        return [unquote(word) for word in path.split("/")]

    def _guarded(self, answer: Any) -> None:
        try:
            answer()
        except NotFound as problem:
            self._text(404, str(problem))
        except (NotSubmitted, ValueError, TypeError) as problem:
            self._text(400, str(problem))
        except Refused as problem:
            self._text(500, str(problem))  # Ray's status
        except Problem as problem:
            self._text(problem.status, str(problem))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as problem:
            _log.error("%s %s: %s", self.command, self.path, traceback.format_exc())
            self._text(500, f"{type(problem).__name__}: {problem}")

    def _submit(self) -> None:
        try:
            fields = json.loads(self._body() or b"null")
        except (ValueError, RecursionError) as problem:
            raise Problem(400, f"the body is not JSON: {problem}") from None
        job = requests.read(fields)
        self.manager.submit(job)
        self._json({"job_id": job.id, "submission_id": job.id})

    def _stop(self, name: str) -> None:
        self._body()
        self._json({"stopped": self.manager.stop(name)})

    def _delete(self, name: str) -> None:
        self.manager.delete(name)
        self._json({"deleted": True})

    def _package(self, protocol: str, name: str) -> None:
        if not self.manager.uploads.has(protocol, name):
            raise Problem(404, f"Package {protocol}://{name} does not exist")
        self._send(200, b"", "text/plain; charset=utf-8")

    def _keep(self, protocol: str, name: str) -> None:
        self.close_connection = True  # a body that is refused is not read to its end
        self.manager.uploads.keep(protocol, name, self.rfile, self._length())
        self._send(200, b"", "text/plain; charset=utf-8")

    def _tail(self, name: str) -> None:
        self.manager.record(name)  # an error has a status of its own
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for text in logs.follow(self.manager, name):
                self._line({"text": text})
            self._line({"end": True})
        except (logs.Unreadable, NotFound, Refused) as problem:
            self._line({"error": str(problem)})

    def _line(self, event: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(event).encode() + b"\n")
        self.wfile.flush()

    def _length(self) -> int:
        text = "" if "Transfer-Encoding" in self.headers else self.headers.get("Content-Length", "")
        if not text.isascii() or not text.isdigit():
            raise Problem(411, "a body needs a Content-Length")
        return int(text)

    def _body(self) -> bytes:
        if not self._unread:
            return b""
        length = self._length()
        if length > _MOST_BODY:
            raise Problem(413, f"the body has more than {_MOST_BODY} bytes")
        body = self.rfile.read(length)
        self._unread = len(body) != length
        return body

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), "application/json; charset=utf-8")

    def _text(self, status: int, text: str) -> None:
        self._send(status, text.encode(), "text/plain; charset=utf-8")

    def _unknown(self) -> None:
        self.close_connection = True
        self._text(404, f"nothing is at {self.command} {urlsplit(self.path).path:.200}")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        if self._unread:  # the rest of the body would be taken for the next request, perhaps of somebody else
            self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: what fails is."""

    def address_string(self) -> str:
        """Returns who asks. A Unix socket has no name for that."""
        return "the head"


class Server(ThreadingHTTPServer):
    """Serves the inherited socket, one thread for each connection."""

    daemon_threads = True

    def __init__(self, manager: Manager, listener: socket.socket) -> None:
        super().__init__(("", 0), type("JobHandler", (Handler,), {"manager": manager}), bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def get_request(self) -> tuple[socket.socket, Any]:
        """Takes a connection."""
        connection, _ = self.socket.accept()
        return connection, ("the head", 0)


def main(folder: str) -> None:
    """Serves until the input ends."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    listener = socket.socket(fileno=_LISTENER)
    listener.set_inheritable(False)
    eagleray.init(address=folder, namespace=f"{census.INTERNAL}jobs", log_to_driver=False, configure_logging=False)
    manager = Manager(folder)
    server = Server(manager, listener)

    def end() -> None:
        sys.stdin.buffer.read()
        timer = threading.Timer(_END_SECONDS, os._exit, (0,))  # the head is gone, so the session may not answer
        timer.daemon = True
        timer.start()
        server.shutdown()

    threading.Thread(target=end, daemon=True).start()
    threading.Thread(target=_adopt, args=(manager,), daemon=True).start()
    _log.info("serving jobs of the session %s", folder)
    server.serve_forever()
    eagleray.shutdown()


def _adopt(manager: Manager) -> None:
    try:
        manager.adopt()
    except Exception:
        _log.exception("jobs that run are looked at only when somebody asks for them")


if __name__ == "__main__":
    main(sys.argv[1])
