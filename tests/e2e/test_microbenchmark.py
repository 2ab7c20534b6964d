"""``eagleray microbenchmark``: the names and the format of Ray's, on any session."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray._private import ray_perf
from eagleray._private.tools import microbenchmark, microbenchmark_lines
from eagleray._private.tools.microbenchmark_lines import Line

COMMAND = str(Path(sys.executable).with_name("eagleray"))
SHORT = ["--seconds", "0.001", "--runs", "1", "--rest", "0"]
# What Ray prints, in its order.
NAMES = """
single client get calls (Plasma Store)
single client put calls (Plasma Store)
multi client put calls (Plasma Store)
single client put gigabytes
single client tasks and get batch
multi client put gigabytes
single client get object containing 10k refs
single client wait 1k refs
single client tasks sync
single client tasks async
multi client tasks async
1:1 actor calls sync
1:1 actor calls async
1:1 actor calls concurrent
1:n actor calls async
n:n actor calls async
n:n actor calls with arg async
1:1 async-actor calls sync
1:1 async-actor calls async
1:1 async-actor calls with args async
1:n async-actor calls async
n:n async-actor calls async
placement group create/removal
client: get calls
client: put calls
client: put gigabytes
client: tasks and put batch
client: 1:1 actor calls sync
client: 1:1 actor calls async
client: 1:1 actor calls concurrent
client: tasks and get batch
""".strip().splitlines()
# How programs read a line.
FORMAT = re.compile(r"(.+) per second (\d+\.\d+) \+- (\d+\.\d+)")


def command(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: text for name, text in os.environ.items() if not name.startswith("TESTS_TO_")}
    return subprocess.run(
        [COMMAND, "microbenchmark", *args], env={**clean, **env}, capture_output=True, text=True, timeout=60
    )


def test_every_line_of_ray_is_there() -> None:
    assert [line.name for line in microbenchmark_lines.LINES] == NAMES


# First what needs that no session runs in this process.


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        (["--seconds", "0"], 2, "--seconds: must be above 0"),
        (["--runs", "-1"], 2, "--runs: must be a whole number from 1"),
        (["--rest", "nan"], 2, "--rest: must be a number of seconds"),
        (["now"], 2, "unrecognized arguments: now"),
        (["--address", "/nowhere"], 1, "No Eagle Ray daemon answers at '/nowhere'"),
    ],
)
def test_bad_arguments(args: list[str], status: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        found = microbenchmark.main(args)
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        found = ended.code
    assert found == status and text in capsys.readouterr().err


def failing(ray: Any) -> list[Line]:
    def make() -> microbenchmark_lines.Work:
        task = ray.remote(num_cpus=0, max_retries=0)(lambda: 1 // 0)
        return lambda: ray.get(task.remote()), 1

    return [Line("divides", make), Line("counts", lambda: (lambda: None, 10))]


def test_a_line_that_fails(fresh: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(microbenchmark_lines, "LINES", failing(fresh))
    monkeypatch.setenv("RAY_ADDRESS", "local")
    assert microbenchmark.main(SHORT) == 1
    out = capsys.readouterr().out.splitlines()[1:]
    assert out[0].startswith("divides: failed, RayTaskError") and out[1].startswith("counts per second ")


def test_ray_perf_gives_the_results(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbenchmark_lines, "LINES", failing(fresh)[1:])
    monkeypatch.setattr(ray_perf, "SECONDS", 0.01)
    monkeypatch.setattr(ray_perf, "REST", 0)
    monkeypatch.setenv("RAY_ADDRESS", "local")
    ((name, mean, deviation),) = ray_perf.main()
    assert name == "counts" and mean > 1000 and deviation >= 0


def test_lines_on_a_running_session(session: Any) -> None:
    done = command("--json", *SHORT, "--address", session["address"], TESTS_TO_SKIP="gigabytes")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["address"] == session["address"] and found["resources"]["slot"] == 2
    wanted = [name for name in NAMES if "gigabytes" not in name]
    measured = [row["name"] for row in found["results"]]
    assert measured + list(found["not measured"]) == wanted and not found["failed"]
    assert set(found["not measured"]) == {name for name in wanted if name.startswith("client:")}, (
        "a line of a feature that is there now has to be measured"
    )
    assert all(row["mean"] > 0 and row["deviation"] == 0 for row in found["results"])
    for name in wanted:
        assert re.search(f"^{re.escape(name)}( per second |: not measured, )", done.stderr, re.MULTILINE), name


def test_format_and_filters(session: Any) -> None:
    quick = ["--seconds", "0.01", "--rest", "0"]
    here = {"RAY_ADDRESS": session["address"], "TESTS_TO_SKIP": "client"}
    done = command(*quick, TESTS_TO_RUN="single", **here)
    assert done.returncode == 0 and "no line" in done.stderr  # all of them have a client
    done = command(*quick, TESTS_TO_RUN="1:1 actor", **here)
    assert done.returncode == 0, done.stderr
    lines = [FORMAT.fullmatch(text) for text in done.stdout.splitlines()[1:]]
    assert [line and line[1] for line in lines] == [name for name in NAMES if name.startswith("1:1 actor")]


def test_a_session_of_its_own_and_what_is_missing() -> None:
    done = command(*SHORT, TESTS_TO_RUN="client: get", RAY_ADDRESS="local")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [
        "client: get calls: not measured, Eagle Ray does not have it yet: Ray client (ray://)"
    ]
