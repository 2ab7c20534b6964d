"""Jobs over HTTP in a session of ``init``: ``include_dashboard``, ``dashboard_host`` and ``dashboard_port``."""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

_HOST, _PORT, _MORE_PORTS = "127.0.0.1", 8265, 50
_URL_FILE = "dashboard"


def config(include: Any, host: Any, port: Any) -> dict[str, Any]:
    """Returns what the session's own daemon is told; nothing if no jobs are to be taken.

    Jobs are taken if the program asks for the dashboard or gives a port.

    Raises:
        TypeError, ValueError: an argument is wrong.
    """
    if include is not None and not isinstance(include, bool):
        raise TypeError(f"include_dashboard must be True, False or None, got {include!r}")
    if not isinstance(host, str) or not host:
        raise TypeError(f"dashboard_host must be the name or address of this machine, got {host!r}")
    if port is not None and (isinstance(port, bool) or not isinstance(port, int)):
        raise TypeError(f"dashboard_port must be a number, got {port!r}")
    if port is not None and not 0 <= port < 1 << 16:
        raise ValueError(f"dashboard_port must be from 0 to 65535, got {port}")
    if include is False or (include is None and port is None):
        return {}
    bare = host.removeprefix("[").removesuffix("]")
    listen = f"[{bare}]" if ":" in bare else bare
    web = {"listen": f"{listen}:{_PORT if port is None else port}", "flag": "dashboard_port", "given": port is not None}
    return {"dashboard": {"web": {**web, "more": _MORE_PORTS}, "token": _token()}, "python": sys.executable}


def url(session_dir: str) -> str:
    """Returns HOST:PORT at which a session of this machine takes jobs; an empty text if it takes none."""
    try:
        with open(os.path.join(session_dir, _URL_FILE), encoding="utf-8") as file:
            return file.read(4096).strip().removeprefix("http://")
    except OSError:
        return ""


def _token() -> dict[str, str]:
    """Returns where the token is: where a variable says, else in the file of this user's clusters, made if needed."""
    from eagleray._private.session import node

    path = os.environ.get("EAGLERAY_TOKEN_FILE")
    if not path and os.environ.get("RAY_AUTH_MODE") != "disabled":
        if os.environ.get("RAY_AUTH_TOKEN"):
            return {"variable": "RAY_AUTH_TOKEN"}
        path = os.environ.get("RAY_AUTH_TOKEN_PATH")
    if path:
        return {"file": os.path.abspath(os.path.expanduser(path))}
    path = os.path.join(node.base_dir(), "token")
    if not os.path.exists(path):
        new = f"{path}.{os.getpid()}"
        with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
        try:
            os.link(new, path)  # another process may be quicker
        except FileExistsError:
            pass
        finally:
            os.remove(new)
    return {"file": path}
