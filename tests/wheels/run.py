"""Tries the wheels of dist/: see `make trywheels`.

    run.py [VERSION …]

Each wheel is looked at with auditwheel, and installed in a virtual environment of its version of Python, once without
and once with numpy. There smoke.py runs, in an empty folder, so that nothing of this tree is found. The network is
needed for cloudpickle, msgpack and numpy.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIST = ROOT / "dist"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
#: The oldest platform that the wheels are to run on.
PLATFORM = "manylinux_2_17_x86_64"


def interpreter(version: str) -> str | None:
    """The interpreter of a version that PATH or pyenv has, or None."""
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python3"))
    for one in (shutil.which(f"python{version}"), sys.executable, *map(str, found)):
        if one is None:
            continue
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([one, "-c", code], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return one
    return None


def run(*words: object, folder: Path) -> str:
    """Runs a command outside of this tree; returns its standard output.

    Raises:
        RuntimeError: it fails.
    """
    clean = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = list(map(str, words))
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def audit(wheel: Path, folder: Path) -> None:
    """Raises unless a wheel runs on ``PLATFORM``.

    Raises:
        RuntimeError: it does not, or auditwheel says nothing of it.
    """
    said = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel, folder=folder).split())
    if f'consistent with the following platform tag: "{PLATFORM}"' not in said:
        raise RuntimeError(f"auditwheel does not find that {wheel.name} is for {PLATFORM}: {said}")


def attempt(version: str, folder: Path) -> str:
    """Tries the wheel of a version; returns what its checks said."""
    python = interpreter(version)
    if python is None:
        raise RuntimeError(f"there is no Python {version} in PATH or below ~/.pyenv/versions")
    tag = "cp" + version.replace(".", "")
    ours, compat = list(DIST.glob(f"eagleray-*-{tag}-{tag}-*.whl")), list(DIST.glob("eagleray_ray_compat-*.whl"))
    if len(ours) != 1 or len(compat) != 1:
        raise RuntimeError(
            f"dist/ has {len(ours)} wheels for Python {version} and {len(compat)} of eagleray-ray-compat"
        )
    audit(ours[0], folder)
    made = folder / version
    run(python, "-m", "venv", made, folder=folder)
    pip = [made / "bin" / "python", "-m", "pip", "-q", "--disable-pip-version-check"]
    said = []
    for more, flags in ([], ["--without-numpy"]), (["numpy>=1.23,<3"], []):
        run(*pip, "install", *ours, *compat, *more, folder=folder)
        run(*pip, "check", folder=folder)
        last = run(made / "bin" / "python", HERE / "smoke.py", *flags, folder=folder).strip().splitlines()[-1]
        if not re.fullmatch(r"\d{2,} passed, 0 failed", last):
            raise RuntimeError(f"smoke.py ended with {last!r}")
        said.append(f"{last} {'without' if flags else 'with'} numpy")
    run(*pip, "uninstall", "-y", "eagleray-ray-compat", "eagleray", folder=folder)
    left = [path for path in made.glob("lib/python*/site-packages/*") if path.name.lower().startswith(("eagle", "ray"))]
    if left or (made / "bin" / "eagleray").exists():
        raise RuntimeError(f"the uninstalled wheels have left {left or 'the command eagleray'}")
    return "; ".join(said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help=f"of Python; {', '.join(VERSIONS)} where none is named")
    passed = failed = 0
    for version in parser.parse_args().versions or VERSIONS:
        with tempfile.TemporaryDirectory(prefix="er") as folder:
            try:
                print(f"Python {version}: {attempt(version, Path(folder))}", flush=True)
                passed += 1
            except (RuntimeError, subprocess.SubprocessError) as error:
                print(f"Python {version}: {error}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
