"""Runs small programs of libraries that use Ray under Eagle Ray and under Ray, and compares what they print.

Each library has a pair of virtual environments, which differ in one thing: what `import ray` is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ENVIRONMENTS = ROOT / "build" / "real"
UV = [sys.executable, "-m", "uv", "--quiet"]
RAY = "ray==2.60.0"
#: What eagleray itself needs; the sources of this tree take the place of its wheel.
OURS = ["cloudpickle>=3.1.1,<4", "msgpack>=1.1.0,<2", "numpy>=1.23,<3"]


def libraries() -> list[str]:
    """The libraries that have a program."""
    return sorted(path.stem.removeprefix("example_") for path in (HERE / "programs").glob("example_*.py"))


def make(library: str, side: str) -> Path:
    """Makes the environment of a library anew; returns its interpreter."""
    folder = ENVIRONMENTS / f"{library}-{side}"
    subprocess.run([*UV, "venv", "--clear", "--python", sys.executable, folder], check=True)
    python = folder / "bin" / "python"
    install = [*UV, "pip", "install", "--python", python]
    wanted = ["-r", HERE / "requirements" / f"{library}.txt"]
    if side == "theirs":
        subprocess.run([*install, RAY, *wanted], check=True)
        return python
    subprocess.run([*install, *OURS, *wanted, "--overrides", HERE / "without_ray.txt"], check=True)
    subprocess.run([*install, "--no-deps", ROOT / "python" / "ray_compat"], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "eagleray_dev.pth").write_text(f"{ROOT / 'python'}\n")
    return python


def run(python: Path, library: str, seconds: float) -> str:
    """What a library's program prints. A program that fails or does not end is an error with its last lines."""
    clean = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "RAY_ADDRESS")}
    clean["EAGLERAY_RAY_LIBS"] = str(ROOT / "build" / "ray-libs")  # Ray itself does not look at it
    program = HERE / "programs" / f"example_{library}.py"
    done = subprocess.run([python, program], env=clean, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise RuntimeError(f"{program.name} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    if not done.stdout.strip():
        raise RuntimeError(f"{program.name} printed nothing, so there is nothing to compare")
    return done.stdout


def compare(library: str, seconds: float) -> str | None:
    """Why a library's results differ, or None."""
    try:
        ours, theirs = (run(make(library, side), library, seconds) for side in ("ours", "theirs"))
    except (RuntimeError, subprocess.SubprocessError) as error:
        return str(error)
    return None if ours == theirs else f"Eagle Ray printed:\n{ours}Ray printed:\n{theirs}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", help="which libraries; all of them where none is named")
    parser.add_argument("--seconds", type=float, default=300, help="how long one program may run")
    chosen = parser.parse_args()
    unknown = set(chosen.libraries) - set(libraries())
    if unknown:
        parser.error(f"no program for {', '.join(sorted(unknown))}; there are {', '.join(libraries())}")
    failed = 0
    for library in chosen.libraries or libraries():
        why = compare(library, chosen.seconds)
        print(f"{library}: {'the same' if why is None else why}", flush=True)
        failed += why is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
