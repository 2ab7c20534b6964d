"""Virtual environments for tests of installers, and the wheel of ``python/ray_compat`` to install in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

COMPAT = Path(__file__).parents[2] / "python" / "ray_compat"


def run(*words: object, status: int | None = 0, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "RAY_ADDRESS")}
    done = subprocess.run(
        [str(word) for word in words], env={**clean, **env}, capture_output=True, text=True, timeout=200
    )
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done


def build_compat(folder: Path) -> Path:
    """Makes the wheel of ``python/ray_compat`` in a folder."""
    source = folder / "source"
    shutil.copytree(COMPAT, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, source)
    (built,) = folder.glob("eagleray_ray_compat-*.whl")
    return built


def like_ray(folder: Path, version: str) -> Path:
    """Makes a wheel that looks like Ray's."""
    made = folder / f"ray-{version}-py3-none-any.whl"
    info = f"ray-{version}.dist-info"
    files = {
        "ray/__init__.py": f"__version__ = {version!r}\n",
        "ray/_raylet.so": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: ray\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return made


class Environment:
    """A virtual environment whose packages are those of this one, or none."""

    def __init__(self, folder: Path, with_eagleray: bool = True) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        self.python = folder / "bin" / "python"
        self.ray = folder / "bin" / "ray"
        (self.site,) = folder.glob("lib/python*/site-packages")
        if with_eagleray:
            text = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
            (self.site / "packages.pth").write_text(text)

    def pip(self, *words: object, status: int = 0) -> str:
        command = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check"]
        done = run(*command, *words, status=status)
        return done.stdout + done.stderr

    def install(self, *wheels: Path) -> None:
        self.pip("install", "-q", "--no-deps", "--no-index", *wheels)

    def uv(self, command: str, *words: object, status: int = 0) -> str:
        done = run(
            sys.executable,
            "-m",
            "uv",
            "--no-cache",
            "--offline",
            "pip",
            command,
            "--python",
            self.python,
            *words,
            status=status,
        )
        return done.stdout + done.stderr
