"""What workers write and how it is shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pace import PATIENCE_S, killed, until

PROGRAM = """
import sys, time, logging
import eagleray as ray
ray.init(address="local", num_cpus=2{init})
{body}
ray.shutdown()
"""


def run(script: Any, body: str, init: str = "", **options: Any) -> tuple[list[str], list[str]]:
    done = script(PROGRAM.format(body=body, init=init), **options)
    return done.stdout.splitlines(), done.stderr.splitlines()


def test_prefixes_of_tasks_and_actors(script: Any) -> None:
    out, err = run(
        script,
        """
@ray.remote
def speak():
    print("one\\ntwo")
    print("to stderr", file=sys.stderr)
    logging.warning("logged")
    logging.info("not shown")

@ray.remote
class Speaker:
    def speak(self):
        print("from an actor")

@ray.remote
class Named:
    def __repr__(self):
        return "Named(5)"
    def speak(self):
        print("from a named one")

ray.get(speak.remote())
ray.get(speak.options(name="alias").remote())
ray.get(Speaker.remote().speak.remote())
ray.get(Named.remote().speak.remote())
""",
    )
    shown = [re.sub(r"pid=\d+", "pid=N", line) for line in out]
    assert [line for line in shown if "speak" in line] == ["(speak pid=N) one", "(speak pid=N) two"]
    assert [line for line in shown if "alias" in line] == ["(alias pid=N) one", "(alias pid=N) two"]
    assert "(Speaker pid=N) from an actor" in shown and "(Named(5) pid=N) from a named one" in shown
    shown = [re.sub(r"pid=\d+", "pid=N", line) for line in err]
    assert "(speak pid=N) to stderr" in shown and "(speak pid=N) WARNING:root:logged" in shown
    assert not any("not shown" in line for line in shown)


def test_only_identical_text_is_folded_from_the_fourth_copy(script: Any) -> None:
    body = """
@ray.remote
def say(text):
    print(text)

for i in range(8):
    ray.get(say.remote("same"))
for i in range(6):
    ray.get(say.remote(f"line {i}"))
"""
    out, _ = run(script, body)
    same = [line for line in out if "same" in line]
    assert len(same) == 4 and "repeated 5x" in same[-1]
    assert sum("line" in line for line in out) == 6
    import os

    out, _ = run(script, body, env={**os.environ, "RAY_DEDUP_LOGS": "0"})
    assert sum("same" in line for line in out) == 8


def test_three_gpu_lines_are_all_shown(script: Any) -> None:
    out, _ = run(
        script,
        """
@ray.remote(num_gpus=0.5, num_cpus=0)
class Fraction:
    def show(self):
        print("GPU id:", ray.get_gpu_ids())

actors = [Fraction.remote() for _ in range(3)]
ray.get([a.show.remote() for a in actors])
""",
        init=", num_gpus=3",
    )
    assert sorted(line.split(") ")[1] for line in out) == ["GPU id: [0]", "GPU id: [0]", "GPU id: [1]"]
    assert len({line.split(")")[0] for line in out}) == 3


def test_output_can_be_kept_away(script: Any) -> None:
    out, err = run(script, 'ray.get(ray.remote(lambda: print("quiet")).remote())', init=", log_to_driver=False")
    assert out == [] and err == []


def test_last_words_before_shutdown(script: Any) -> None:
    out, _ = run(
        script,
        """
@ray.remote
def talk():
    for i in range(2000):
        print("word", i)

ray.get(talk.remote())
""",
    )
    assert len(out) == 2000 and out[-1].endswith("word 1999")


def test_progress_bars(script: Any) -> None:
    _, err = run(
        script,
        """
@ray.remote
def work():
    from tqdm import tqdm
    for _ in tqdm(range(20), desc="steps", mininterval=0):
        time.sleep(0.001)

ray.get(work.remote())
""",
    )
    text = "\n".join(err)
    assert "steps: 100%" in text and "20/20" in text


def test_constructor_that_returns_something_is_warned_about(script: Any) -> None:
    _, err = run(
        script,
        """
@ray.remote
class A:
    def __init__(self):
        return "a string"
    def m(self):
        return 1

assert ray.get(A.remote().m.remote()) == 1
""",
    )
    assert any("A.__init__ returned 'a string'" in line for line in err)


def test_waiting_is_explained(tmp_path: Path) -> None:
    said, begun, explained = tmp_path / "stderr", tmp_path / "begun", tmp_path / "explained"
    body = f"""
from pathlib import Path

@ray.remote(resources={{"tool": 1}})
def hold():
    Path({str(begun)!r}).touch()
    while not Path({str(explained)!r}).exists():
        time.sleep(0.01)

@ray.remote(resources={{"tool": 1}})
def other():
    pass

first = hold.remote()
while not Path({str(begun)!r}).exists():  # else the other function may get the tool first
    time.sleep(0.01)
queued = hold.remote()  # behind another call of its own function: an ordinary queue
ray.get(other.remote())
"""
    program = PROGRAM.format(body=body, init=', resources={"tool": 1}')
    with said.open("wb") as err, killed(subprocess.Popen([sys.executable, "-c", program], stderr=err)) as child:
        until(lambda: "task other" in said.read_text() or child.poll() is not None, "the warning")
        explained.touch()  # the task of the same function, older than the other, would have been named by now
        assert child.wait(PATIENCE_S) == 0, said.read_text()
    lines = said.read_text().splitlines()
    assert any("task other" in line and "tool" in line for line in lines), lines
    assert not any("task hold" in line for line in lines), lines


def test_crash_in_c_leaves_its_traceback(script: Any) -> None:
    _, err = run(
        script,
        """
import ctypes

@ray.remote(max_retries=0)
def crash():
    ctypes.string_at(0)

try:
    ray.get(crash.remote())
except ray.exceptions.WorkerCrashedError as error:
    print("caught", file=sys.stderr)
""",
    )
    assert any("Segmentation fault" in line for line in err) and "caught" in err
