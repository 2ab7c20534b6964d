"""The examples run, end in good time, and print what they tell the reader to look at."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 90


def run(name: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Runs an example; its failure shows what it printed."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        capture_output=True,
        text=True,
        timeout=seconds,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},  # whole lines
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_gpu_chapter() -> None:
    output = run("gpu_chapter.py").stdout
    for line in (
        "mul_two made [0. 1. 2. 3.] into [0. 2. 4. 6.]",
        "the task was given GPU ids [0] and saw CUDA_VISIBLE_DEVICES=0",
        "three kernels, one copy back: [0. 1. 2. 3.] became [ 0.  8. 16. 24.]",
        "two actors with num_gpus=1 got [[0], [1]]",
        "three actors with num_gpus=0.5 got [[0], [0], [1]]",
        "max_calls=1: 3 calls ran in 3 process(es)",
        "max_calls=0: 3 calls ran in 1 process(es)",
        "use_gpu=True: [0. 2. 4. 6.]",
        "use_gpu=False: [0. 2. 4. 6.]",
        "done with these resources: [0. 2. 4. 6.]",
        "in the task: done on the CPU, because of CudaSupportError: [0. 2. 4. 6.]",
        "in the driver: TaskUnschedulableError, so here: [0. 2. 4. 6.]",
    ):
        assert line in output, f"{line!r} is missing in\n{output}"
    probe = re.search(r"known after (\d+\.\d) s of the 240 s allowed: asking for {'num_cpus': 2}", output)
    assert probe, output
    assert float(probe[1]) <= 2.0


def test_resident_actor() -> None:
    output = run("resident_actor.py").stdout
    assert re.search(r"the array lives on (cpu, assigned GPU ids \[\]|cuda:0, assigned GPU ids \['\d+'\])", output), (
        output
    )
    found = re.search(r"100 calls on 4 MiB: (\S+) ms on resident data, (\S+) ms when each call copies", output)
    assert found, output
    assert float(found[1]) < float(found[2])


def test_digits() -> None:
    done = run("digits.py")
    found = re.search(r"final accuracy, all voting: (\d\.\d+)", done.stdout)
    assert found, done.stdout
    assert float(found[1]) >= 0.97
    assert "search: 100%" in done.stderr
    assert "network: 100%" in done.stderr


def test_cluster() -> None:
    output = run("cluster.py", 60).stdout
    assert "3 nodes with 4 CPUs and 2 GPUs" in output, output
    assert "24 of 48 images are done; two CPUs is killed now" in output, output
    assert re.search(r"prepared on: .*\btwo CPUs\b", output), output
    assert "measured on: two GPUs\n" in output, output
    assert "the results were kept on: two GPUs\n" in output, output
    found = re.search(r"total brightness (\S+), and (\S+) without a cluster", output)
    assert found, output
    assert found[1] == found[2]
    assert "nothing is left of the nodes" in output, output
