"""The ``eagleray`` command: becomes the binary that the package carries."""

import os
import sys
from typing import NoReturn

BINARY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_bin", "eagleray")


def main() -> NoReturn:
    """Replaces this process, so that signals and the exit status are the binary's own."""
    # The daemon starts its workers with the interpreter that the command was installed for.
    os.environ.setdefault("EAGLERAY_PYTHON", sys.executable)
    os.execv(BINARY, [BINARY, *sys.argv[1:]])
