"""Shows that the checks find bugs: runs them on a build that has some on purpose (core/internal/planted).

``make robust`` builds that variant into ``build/planted`` and calls this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

#: How long a bug may stay unfound: runs follow each other with other programs until then. One among nodes takes longer.
LONGEST, LONGEST_NODES = 120.0, 600.0
#: From the seeds of one run's programs to those of the next.
APART = 1000
#: Stands for no bug at all: what has to be clean then is given more time.
NONE = "none"
SWEEP = ("chaos.sweep", "--programs", "60", "--shrink", "0")
STORM = ("chaos.storm", "--tasks", "400", "--actors", "4", "--replaced", "0")
#: Runs of five nodes: in the first ones nodes survive what is not a kill, in the others they are declared dead.
NODES = ("chaos.nodes", "--quick", "--patience", "40", "--runs")
SURVIVED, DEADLY = (*NODES, "survived", "--only"), (*NODES, "deadly", "--only")


@dataclass
class Bug:
    """A bug, and the run that has to find it."""

    plant: str
    what: str
    run: tuple[str, ...]
    longest: float = LONGEST


BUGS = [
    Bug("skipped_count", "an owner is not told of a borrower", SWEEP),
    Bug("early_free/5", "a value does not keep what it contains", SWEEP),
    Bug("lost_return", "an owner is not told that a borrower lets go", SWEEP),
    Bug("kept_pin", "a task's end does not let go of its arguments", SWEEP),
    Bug("lost_reply", "an answer is not sent", SWEEP),
    Bug("lost_retry/5", "a task is dropped when its worker dies", STORM),
    Bug("lost_item/3", "a generator's item is not sent", SWEEP),
    Bug("left_file/1", "a file of spilled objects stays on disk", SWEEP),
    Bug("wrong_order/1", "calls of an actor that restarts are sent in another order", STORM),
]
NODE_BUGS = [
    Bug(plant, what, run, LONGEST_NODES)
    for plant, what, run in (
        (
            "early_close/1",
            "a broken connection is taken for the other node's death",
            (*SURVIVED, "pause", "cut_both_ways", "cut_one_way"),
        ),
        ("late_news/1", "an owner's node hears of an object after whoever reads it", (*SURVIVED, "slow_disk")),
        ("kept_copy/5", "another node does not hear that an object is freed", (*SURVIVED, "slow_disk")),
        ("no_word/1", "the end of a killed node is not told", (*SURVIVED, "kill")),
        ("deaf_dead/1", "a node that was declared dead goes on", ("chaos.returned",)),
        ("double_apply/1", "a change that a node asks for again is made again", ("chaos.answers",)),
        (
            "blind_promise/1",
            "an exclusive actor does not look whether the cluster counts on its node",
            (*DEADLY, "cut_both_ways", "pause"),
        ),
        ("lost_retry/3", "a task is dropped when its node dies", (*DEADLY, "kill", "pause")),
    )
]
#: The package and its test that play histories of clients of several heads.
HISTORIES = ("histories", "TestHistories")
#: Bugs that Go tests of one package find, with sockets, links and daemons that are real.
GO_BUGS = [
    Bug(plant, what, ("chaos.gotests", package, *tests), LONGEST_NODES)
    for plant, what, package, *tests in (
        (
            "early_close/1",
            "a broken connection is taken for the other node's death",
            *("link", "TestControl_CallsInBothDirections", "TestRelayed_PathComesAndGoes_NothingIsLostOrDoubled"),
        ),
        (
            "late_news/1",
            "an owner's node hears of an object after whoever reads it",
            *("pulls", "TestMade_IsKnownBeforeTheWriterGoesOn"),
        ),
        ("kept_copy/1", "another node does not hear that an object is freed", "pulls", "TestOwnerEnds_ItsObjectsGo"),
        (
            "deaf_dead/1",
            "a node that was declared dead goes on",
            *("cli", "TestNode_Silent_DiesAndComesBackAsANewOne"),
        ),
        (
            "double_apply/1",
            "a change whose answer was lost is applied again",
            *("headlink", "TestRestart_BetweenEachChangeAndItsAnswer_IsAsWithoutOne"),
        ),
        ("stale_read/1", "a fresh read does not ask whether the head leads", *HISTORIES),
        ("early_ack/5", "a change is acknowledged before a majority has it", *HISTORIES),
        ("skipped_sync/1", "a head's log is not on its disk", *HISTORIES),
        ("double_apply/1", "heads apply a change again", *HISTORIES),
        ("lost_dedup/1", "a snapshot has no answered requests", *HISTORIES),
        ("no_fence/1", "a leader's decision is applied in a later term", *HISTORIES),
    )
]
#: Runs of three heads that are struck while programs read and write. The other bugs of heads are found by histories:
#: a leader that was cut off stops leading before another one can lead, so stale reads (stale_read) and late decisions
#: (no_fence) need a clock that histories control; a log that is not on its disk (skipped_sync) needs a loss of power.
HEADS = (
    "chaos.heads",
    "--seconds",
    "60",
    "--quiet",
    "1",
    "--step",
    "0.02",
    "--actors",
    "5",
    "--flight",
    "50",
    "--only",
)
HEAD_BUGS = [
    Bug(plant, what, (*HEADS, *ways), LONGEST_NODES)
    for plant, what, *ways in (
        ("early_ack/50", "a change is acknowledged before a majority has it", "cut_leader", "kill_leader"),
        ("double_apply/1", "heads apply a change again", "kill_leader", "cut_leader"),
    )
]
#: What the first name after the seed can be.
LISTS = {"nodes": NODE_BUGS, "heads": HEAD_BUGS, "go": GO_BUGS}


def look(plant: str, run: tuple[str, ...], seed: int, package: Path, longest: float) -> tuple[int, str, float]:
    """Runs a check on the variant: its exit status, the line that says what it found, and how long it took."""
    patience = "60" if plant == NONE else "8"
    environ = {**os.environ, "PYTHONPATH": str(package), "EAGLERAY_PLANT": plant, "EAGLERAY_CHAOS_PATIENCE": patience}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", *run, "--seed", str(seed)],
        env=environ,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=longest,
    )
    lines = [line.strip() for line in done.stdout.splitlines()]
    found = [line for line in lines if "went wrong" in line or "WRONG" in line or "LEFT BEHIND" in line]
    said = found[0] if found else (lines or done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return done.returncode, said, time.monotonic() - start


def seek(bug: Bug, seed: int, package: Path) -> tuple[int, str, float]:
    """``look`` with one seed after the other until it finds the bug, or its time is over."""
    began = time.monotonic()
    while True:
        try:
            code, said, _ = look(bug.plant, bug.run, seed, package, bug.longest)
        except subprocess.TimeoutExpired:
            code, said = 1, f"WRONG: it hangs for {bug.longest:.0f} s"
        took = time.monotonic() - began
        if code == 1 or took >= bug.longest:
            return code, said, took
        seed += APART


def main(words: list[str]) -> int:
    """Looks for bugs: ``FOLDER SEED [LIST] [NAME…]``. Without a list those of one node; without names all of the list.

    Returns:
        1 when one was not found, or one where none is.
    """
    package, seed = Path(words[0]).resolve(), int(words[1])
    names = words[2:]
    known = LISTS[names.pop(0)] if names and names[0] in LISTS else BUGS
    chosen = [bug for bug in known if bug.plant.partition("/")[0] in names or not names]
    if not chosen:
        print(f"none of these bugs is known: {' '.join(names)}")
        return 1
    found = 0
    # That several nodes are clean without a bug is what chaos.nodes itself shows.
    for run in (SWEEP, STORM) if known is BUGS else ():
        code, said, took = look(NONE, run, seed, package, 2 * LONGEST)
        if code:
            print(f"NOT CLEAN without a bug: {said}")
            return 1
        print(f"without a bug, {run[0]}: clean in {took:.0f} s", flush=True)
    for bug in chosen:
        code, said, took = seek(bug, seed, package)
        if code == 1:
            found += 1
            told = f"found by {bug.run[0]} in {took:.0f} s: {said[:200]}"
        else:
            told = f"NOT FOUND in {took:.0f} s (the last run: {said[:200]})"
        print(f"planted {bug.plant} ({bug.what}): {told}", flush=True)
    print(f"{found} of {len(chosen)} planted bugs found")
    return int(found < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
