"""The client's end of HTTP: where the server is, which token it wants, one request."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from typing import IO, Any
from urllib.parse import urlsplit

from eagleray._private.session import heads, node
from eagleray.exceptions import AuthenticationError

_USUAL = 8265
_SECONDS = 300.0
_MOST_ANSWER = 256 << 20
_MOST_LINE = 16 << 20
_URL_FILE = "dashboard"

#: Names of this machine that no other machine can have.
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def server_url(address: str | None) -> str:
    """Returns the URL of the server of jobs.

    RAY_API_SERVER_ADDRESS, else RAY_ADDRESS, comes before the address that is given, as under Ray.

    Raises:
        ValueError: the address is none of a server of jobs.
        ConnectionError: no cluster runs there.
    """
    named = {"RAY_API_SERVER_ADDRESS": os.environ.get("RAY_API_SERVER_ADDRESS")}
    named |= {"RAY_ADDRESS": os.environ.get("RAY_ADDRESS"), "address": address}
    source, given = next(((name, text) for name, text in named.items() if text), ("address", None))
    scheme, slashes, _ = (given or "").partition("://")
    if slashes and scheme in ("http", "https"):
        return (given or "").rstrip("/")
    if scheme == "ray" and slashes:
        raise ValueError(
            f"{source} {given!r}: there is no Ray Client here. Jobs are submitted over HTTP: give "
            f"http://HOST:{_USUAL}, where HOST is the machine of the head"
        )
    if slashes:
        raise ValueError(f"{source} {given!r}: jobs are submitted to http://HOST:PORT or https://HOST:PORT")
    return _of_cluster(source, given)


def _of_cluster(source: str, given: str | None) -> str:
    """Returns the URL of the head of a cluster that is named as for ``init``."""
    if given == "local":
        given = None
    places = heads.all_of(given) if given and given != "auto" and not given.startswith("/") else None
    try:
        folder = node.resolve(given or "auto") if places is None else heads.node_of(given or "", node.running())
    except ConnectionError as problem:
        raise ConnectionError(
            f"no server of jobs was found ({problem}) Start a cluster with `eagleray start --head`, or give "
            f"http://HOST:{_USUAL} as the address, with RAY_API_SERVER_ADDRESS or --address"
        ) from None
    if folder is not None:
        try:
            with open(os.path.join(folder, _URL_FILE), encoding="utf-8") as file:
                return file.read(4096).strip()
        except OSError:  # the head is on another machine
            places = heads.all_of(",".join(heads.heads_of(folder)))
    if not places:
        raise ConnectionError(
            f"{source} {given!r}: that cluster has no server of jobs. One that `init()` has started has none; one of "
            "`eagleray start --head` has it unless --include-dashboard is false"
        )
    host, _ = places[0]
    return f"http://[{host}]:{_USUAL}" if ":" in host else f"http://{host}:{_USUAL}"


def token() -> str | None:
    """Returns the cluster's token as this user has it; None if there is none.

    EAGLERAY_TOKEN_FILE names its file, RAY_AUTH_TOKEN is the token, RAY_AUTH_TOKEN_PATH names its file; else the file
    that ``eagleray start --head`` has written, else Ray's own, are read.

    Raises:
        AuthenticationError: a file that a variable names cannot be read.
    """
    ours = os.environ.get("EAGLERAY_TOKEN_FILE")
    if ours:
        return _file(ours, "EAGLERAY_TOKEN_FILE")
    if os.environ.get("RAY_AUTH_MODE") != "disabled":
        if os.environ.get("RAY_AUTH_TOKEN"):
            return os.environ["RAY_AUTH_TOKEN"].strip()
        if os.environ.get("RAY_AUTH_TOKEN_PATH"):
            return _file(os.environ["RAY_AUTH_TOKEN_PATH"], "RAY_AUTH_TOKEN_PATH")
    for path in (os.path.join(node.base_dir(), "token"), os.path.expanduser("~/.ray/auth_token")):
        if os.path.isfile(path):
            return _file(path, path)
    return None


def _file(path: str, name: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read(64 << 10).strip()
    except (OSError, UnicodeError) as problem:
        raise AuthenticationError(f"the token cannot be read ({name}): {problem}") from None


class Refusal(RuntimeError):
    """The server's answer that it does not do something.

    Args:
        status: Of HTTP.
        text: What the server says.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"Request failed with status code {status}: {text.strip()}")
        self.status = status


class Transport:
    """Asks one server.

    Args:
        url: http://HOST:PORT or https://HOST:PORT, with a path in front of those of the API perhaps.
        headers: Sent with each request.
        cookies: The same.
        verify: Whether the certificate of https is checked, or a file or folder of authorities.

    Raises:
        ValueError: the URL is none.
        FileNotFoundError: ``verify`` names nothing.
    """

    def __init__(
        self, url: str, headers: Mapping[str, Any], cookies: Mapping[str, Any], verify: bool | str = True
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ValueError(f"{url!r} is not http://HOST:PORT or https://HOST:PORT; credentials go into headers")
        try:
            self._port = parts.port
        except ValueError as problem:
            raise ValueError(f"{url!r}: {problem}") from None
        self.url = url
        self._host = parts.hostname
        self._path = parts.path.rstrip("/")
        self._tls = _context(verify) if parts.scheme == "https" else None
        self._headers = {str(name): str(value) for name, value in headers.items()}
        given = {name.lower(): value for name, value in self._headers.items()}
        if "x-ray-authorization" not in given:
            own = given.get("authorization")
            if own is None:
                self._add_token("Authorization")
            elif self._host in _HERE and not own.lower().startswith(
                "bearer "
            ):  # it is for somebody else than the server
                self._add_token("X-Ray-Authorization")
        if cookies:
            self._headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())

    def _add_token(self, header: str) -> None:
        known = token()
        if known:
            self._headers[header] = f"Bearer {known}"

    def ask(self, method: str, path: str, *, fields: Any = None, body: IO[bytes] | None = None, length: int = 0) -> Any:
        """Makes a request and returns the JSON of the answer; None if it has none.

        Raises:
            ConnectionError: the server does not answer.
            AuthenticationError: the token is missing or wrong.
            Refusal: the server says that it does not do it.
        """
        headers = dict(self._headers)
        data: Any = body
        if fields is not None:
            data, headers["Content-Type"] = json.dumps(fields).encode(), "application/json"
        elif body is not None:
            headers["Content-Length"] = str(length)
        line, answer = self._send(method, path, data, headers)
        try:
            text = self._whole(answer)
        finally:
            line.close()
        return json.loads(text) if text and answer.headers.get_content_type() == "application/json" else None

    def lines(self, path: str) -> Iterator[Any]:
        """Makes a request whose answer is one JSON value a line, and returns these as they come."""
        line, answer = self._send("GET", path, None, dict(self._headers))
        try:
            while True:
                try:
                    text = answer.readline(_MOST_LINE)
                except (OSError, http.client.HTTPException) as problem:
                    raise RuntimeError(f"the connection with {self.url} has ended: {problem}") from None
                if not text:
                    return
                yield json.loads(text)
        finally:
            line.close()

    def _send(
        self, method: str, path: str, data: Any, headers: dict[str, str]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        if self._tls is not None:
            line: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=_SECONDS, context=self._tls
            )
        else:
            line = http.client.HTTPConnection(self._host, self._port, timeout=_SECONDS)
        try:
            line.request(method, self._path + path, body=data, headers=headers)
            answer = line.getresponse()
        except (OSError, http.client.HTTPException) as problem:
            line.close()
            raise ConnectionError(
                f"the server of jobs at {self.url} does not answer ({problem}); is the cluster running, and the "
                "address right?"
            ) from None
        if answer.status == 200:
            return line, answer
        try:
            text = self._whole(answer).decode(errors="replace")
        finally:
            line.close()
        if answer.status in (401, 403, 429):
            raise AuthenticationError(
                f"{self.url}: {text.strip()}. The token is in the file that `eagleray start --head` has printed: name "
                "it with RAY_AUTH_TOKEN_PATH or EAGLERAY_TOKEN_FILE, or set RAY_AUTH_TOKEN"
            )
        raise Refusal(answer.status, text)

    def _whole(self, answer: http.client.HTTPResponse) -> bytes:
        text = answer.read(_MOST_ANSWER + 1)
        if len(text) > _MOST_ANSWER:
            raise RuntimeError(f"the answer of {self.url} has more than {_MOST_ANSWER} bytes")
        return text


def _context(verify: bool | str) -> ssl.SSLContext:
    if verify is True:
        return ssl.create_default_context()
    if verify is False:
        made = ssl.create_default_context()
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        return made
    if os.path.isdir(verify):
        return ssl.create_default_context(capath=verify)
    if os.path.isfile(verify):
        return ssl.create_default_context(cafile=verify)
    raise FileNotFoundError(f"verify names the authorities of certificates, and {verify!r} does not exist")
