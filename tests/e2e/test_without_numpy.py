"""numpy is an extra: programs without arrays run without it, and what needs it names the extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys

sys.modules["numpy"] = None  # as if it were not installed, in the driver and in workers
import eagleray as ray
from eagleray import kernels

def said(use):
    try:
        use()
    except ModuleNotFoundError as error:
        return str(error), error.name
    return None
"""
NEEDS = {
    "an array of a list or a number": "kernels.array([1.0])",
    "data type 'f4'": "kernels.zeros(3, dtype='f4')",
    "Array.numpy()": "kernels.zeros(3).numpy()",
    "a value that is an array": "form_of(msgpack.packb(['<f8', [3], 'C']))",
}


def run(source: str, folder: Path) -> str:
    program = folder / "program.py"
    program.write_text(WITHOUT + source)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tasks_actors_and_arrays_on_the_host_work_without_numpy(tmp_path: Path) -> None:
    source = """
@ray.remote
class Sum:
    def __init__(self):
        sys.modules["numpy"] = None
        self.array = kernels.full(4, 2.0)

    def double(self):
        kernels.mul_two(self.array, out=self.array)
        return memoryview(self.array).tolist(), sys.modules["numpy"]

with ray.init(num_cpus=1):
    print(ray.get(Sum.remote().double.remote()), ray.get(ray.put({"a": [1, b"2"]})))
"""
    assert run(source, tmp_path) == "([4.0, 4.0, 4.0, 4.0], None) {'a': [1, b'2']}\n"


@pytest.mark.parametrize("what", NEEDS)
def test_what_needs_numpy_names_the_extra(what: str, tmp_path: Path) -> None:
    source = f"""
import msgpack
from eagleray._private.values.serialization import form_of
print(*said(lambda: {NEEDS[what]}), sep="|")
"""
    expected = f"{what} needs numpy, which is not installed: pip install 'eagleray[numpy]'|numpy\n"
    assert run(source, tmp_path) == expected
