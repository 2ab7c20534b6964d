"""Describes the machine and the software of a measurement: no names, no paths."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

#: The module that tells a system's version; the standard library has Python's.
MODULES = {"dask": "distributed"}
VERSIONS = "import {module} as m, platform; print(m.__version__, platform.python_version())"
PYTHON_ONLY = "import platform; print(platform.python_version(), platform.python_version())"


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory_gib() -> float:
    kib = int(Path("/proc/meminfo").read_text().split()[1])
    return round(kib / 2**20, 1)


def describe() -> dict[str, Any]:
    return {
        "cpu": cpu_model(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": memory_gib(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
    }


def versions(python: str, module: str) -> dict[str, str]:
    """The versions of a system and of the interpreter that runs it."""
    code = PYTHON_ONLY if module == "executor" else VERSIONS.format(module=MODULES.get(module, module))
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    version, interpreter = told.stdout.split()
    return {"version": version, "python": interpreter}
