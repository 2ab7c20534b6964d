"""Programs that use Ray's own libraries, with the files that `make build/ray-libs/.ready` has installed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import eagleray

#: The cache that the tests use. Installing needs the network, so it is done before them.
CACHE = Path(__file__).parents[2] / "build" / "ray-libs"
TIMEOUT_S = 240
_SAY = """\
def say(*what):
    print("\N{RIGHTWARDS ARROW}" + " ".join(map(str, what)), flush=True)
"""
_RUN = [sys.executable, "-c", "import eagleray._private.cli as c; c.main()", "run"]


def run(source: str, folder: Path, *, as_ray: bool = True) -> list[str]:
    """Runs a program and returns what it has given to `say`, a line for each call. The libraries print, too.

    Args:
        source: The program.
        folder: Where it is written to, and its results. It is the program's HOME.
        as_ray: Whether it runs by `eagleray run`, so that `import ray` is Eagle Ray.
    """
    assert any(CACHE.glob("*/*/files.json")), "run `make build/ray-libs/.ready` first: it installs Ray's libraries"
    path = folder / "program.py"
    path.write_text(_SAY + textwrap.dedent(source))
    environ = {**os.environ, "EAGLERAY_RAY_LIBS": str(CACHE), "HOME": str(folder)}
    environ["PYTHONPATH"] = os.path.dirname(os.path.dirname(eagleray.__file__))
    command = [*_RUN, str(path)] if as_ray else [sys.executable, str(path)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-6000:]
    return [line[1:] for line in done.stdout.splitlines() if line.startswith("\N{RIGHTWARDS ARROW}")]
