"""Packages that tests make themselves: wheels, which are archives with a few files of text."""

from __future__ import annotations

import glob
import os
import zipfile
from pathlib import Path
from typing import Any

import eagleray


def make(folder: Path, name: str, version: str, *, requires: tuple[str, ...] = (), files: Any = None) -> Path:
    """Makes a wheel with a module that has its version, and the program ``NAME-tool`` that prints it."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    tool = name.replace("_", "-") + "-tool"
    contents = {
        f"{name}.py": f"VERSION = {version!r}\n\n\ndef main():\n    print(VERSION)\n",
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {one}\n" for one in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{tool} = {name}:main\n",
        **(files or {}),
    }
    contents[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*contents, f"{info}/RECORD"])
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
    return made


def offline(folder: Path, *packages: str, tool: str = "pip", **more: Any) -> dict[str, Any]:
    """Returns a runtime environment with packages of a folder. No network is used."""
    options = ["--no-index", "--find-links", str(folder)]
    if tool == "uv":
        return {"uv": {"packages": list(packages), "uv_pip_install_options": [*options, "--no-cache"], **more}}
    options.append("--disable-pip-version-check")
    return {"pip": {"packages": list(packages), "pip_install_options": options, **more}}


def make_all(folder: Path) -> Path:
    """Makes the packages that the tests of runtime environments share; returns their folder."""
    for number in ("1.0", "2.0"):
        make(folder, "tiny_thing", number)
    make(folder, "tiny_user", "1.0", requires=("tiny_thing==1.0",))
    make(folder, "tiny_wrong", "1.0", requires=("no_such_package==3",))
    return folder


def version() -> Any:
    import tiny_thing  # type: ignore[import-not-found]

    return tiny_thing.VERSION


def made(session_dir: str) -> list[str]:
    """The virtual environments of a node."""
    return glob.glob(f"{session_dir}/environments/*/virtualenv")


def session_dir() -> str:
    return os.path.join(
        eagleray.get_runtime_context().get_temp_dir(), eagleray.get_runtime_context().get_session_name()
    )


def makers(folder: str) -> list[int]:
    """The processes that make folders of this session."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                command = file.read()
            with open(os.path.dirname(path) + "/environ", "rb") as file:
                variables = file.read()
        except OSError:
            continue
        if b"worker.making" in command and os.path.basename(folder).encode() in variables:
            found.append(int(path.split("/")[2]))
    return found
