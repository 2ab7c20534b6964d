"""The program with which a node makes a folder for runtime environments; the daemon runs it.

It reads an order, one line of JSON, from its standard input, makes the folder, and writes its answer to descriptor 3.
It runs in a process group of its own. When its standard input closes, nobody waits for the folder any more, and it ends
with all that it has started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

from eagleray._private.calls import environments
from eagleray._private.environments.tools import MakingError

ANSWER = 3


def main() -> None:
    """Makes one folder."""
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_order, daemon=True).start()
    environments.as_users_see(os.environ)
    for name in (environments.KEY_VARIABLE, environments.USER_VARIABLE):
        os.environ.pop(name, None)
    try:
        answer = _make(order)
        answer["bytes"] = _size(order["folder"])
    except MakingError as problem:
        answer = {"error": str(problem)}
    except OSError as problem:
        answer = {"error": f"{type(problem).__name__}: {problem}"}
    sys.stdout.flush()
    with open(ANSWER, "wb") as file:
        file.write(json.dumps(answer).encode())
    os._exit(0)


def _end_with_the_order() -> NoReturn:
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _make(order: Mapping[str, Any]) -> dict[str, Any]:
    if order["field"] in ("pip", "uv"):
        from eagleray._private.environments import virtual

        return virtual.make(order)
    from eagleray._private.environments import archives

    return archives.make(order)


def _size(folder: str) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                continue
    return total


if __name__ == "__main__":
    main()
