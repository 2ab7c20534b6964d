"""Work on a cluster of three or five heads of which one or two are struck again and again, in network namespaces.

``python -m chaos.heads --seed 1`` in ``tests/robust`` strikes in all ways. Programs in Go (``keyload``) on three
machines make about 500 changes and reads of keys a second, and Porcupine judges what they were told. A program in
Python has tasks in flight, actors, an open generator and an exclusive actor, none of which may notice, and makes and
ends actors with names.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from net.lab import ROBUST, Lab, unavailable
from net.machine import Machine

from chaos.headslab import CUTTING, NEEDING, OF_FIVE, OF_SMALL_DISKS, OF_THREE, WAYS, Heads, small_disk
from chaos.headswork import WORK
from chaos.nodesleft import left

ROOT = ROBUST.parents[1]
#: What needs no head may not wait longer than this for one. A cut also parts nodes, which look for a way through
#: a third machine after 5 s.
UNDISTURBED_S, PARTED_S = 5.0, 10.0
LIMIT_S = 180.0


def build(folder: Path) -> str:
    """Builds the program that makes the load."""
    path = str(folder / "keyload")
    words = ["go", "build", "-o", path, "./tests/robust/keyload"]
    subprocess.run(words, cwd=ROOT, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return path


class Load:
    """The programs that make the load, one on each of some machines."""

    def __init__(self, keyload: str, machines: list[Machine], folder: Path, rate: float, seed: int) -> None:
        self._keyload, self._folder = keyload, folder
        self.files = [str(folder / f"{machine.name}.history") for machine in machines]
        self._programs = []
        for number, (machine, file) in enumerate(zip(machines, self.files, strict=True)):
            words = [
                f"--out={file}",
                f"--name={machine.name}",
                f"--rate={rate / len(machines)}",
                f"--seed={seed + number}",
            ]
            self._programs.append(machine.popen(keyload, "load", *words))
        for program in self._programs:
            line_of(program, "ready")

    def ends(self, cluster: Heads) -> tuple[dict[str, Any], list[str]]:
        """Ends the load, and has it judged. Returns the verdict, and what was wrong."""
        wrong = []
        for program in self._programs:
            said, _ = program.communicate("", timeout=LIMIT_S)
            print(f"  {said.strip()}")
            if program.returncode:
                wrong.append(f"the load ended with status {program.returncode}: {said}")
        blows = self._folder / "blows"
        blows.write_text(json.dumps([asdict(one) for one in cluster.dealt]))
        words = [self._keyload, "judge", f"--blows={blows}", *self.files]
        judged = subprocess.run(words, capture_output=True, text=True, check=False)
        if not judged.stdout:
            return {}, [*wrong, f"the histories were not judged: {judged.stderr}"]
        verdict = json.loads(judged.stdout)
        wrong += verdict["wrong"] or []
        if verdict["undecided"]:
            wrong.append(f"{verdict['undecided']} histories are undecided")
        if verdict["writes"] == 0 or verdict["keys"] == 0:
            wrong.append("nothing was written")
        return verdict, wrong


def line_of(program: subprocess.Popen[str], wanted: str) -> str:
    """The next line of a program, which has to be the wanted one."""
    assert program.stdout
    said = program.stdout.readline()
    if wanted not in said:
        raise RuntimeError(f"{wanted!r} was not said: {said}{program.stdout.read()}")
    return said


def strike(given: argparse.Namespace, keyload: str, lab: Lab, folder: Path) -> list[str]:
    """Runs the work under the blows. Returns what was wrong."""
    cluster = Heads(lab, given.heads, small_disk if given.small_disks else lambda _: ())
    print(f"  {time.strftime('%H:%M:%S')} {given.heads} heads are healthy", flush=True)
    program = cluster.work.python(WORK, str(given.flight), str(given.actors), str(folder), str(given.step))
    line_of(program, "works")
    loaded = list({machine.name: machine for machine in (*cluster.heads[:2], cluster.work)}.values())
    load = Load(keyload, loaded, folder, given.rate, given.seed)
    time.sleep(given.quiet)
    assert program.stdin
    program.stdin.write("\n")
    program.stdin.flush()
    quiet = json.loads(line_of(program, "{"))
    wrong: list[str] = []
    ways: list[str] = []
    usual = given.only or (OF_SMALL_DISKS if given.small_disks else OF_FIVE if given.heads > 4 else OF_THREE)
    lacking = {way: why for way in usual if way in NEEDING and (why := NEEDING[way](cluster))}
    for way, why in lacking.items():
        print(f"  without {way}: {why}")
    usual = [way for way in usual if way not in lacking]
    end, chance = time.monotonic() + given.seconds, random.Random(given.seed)
    while time.monotonic() < end and not wrong and (not given.blows or len(cluster.dealt) < given.blows):
        if not ways:
            ways = chance.sample(usual, len(usual))
        way = ways.pop()
        try:
            blow = cluster.deal(way, chance)
        except Exception as error:
            wrong.append(f"{way}: {type(error).__name__}: {error}")
            break
        if given.verbose:
            lasts, back = (blow.over - blow.at) / 1e9, (blow.healthy - blow.over) / 1e9
            print(f"  {time.strftime('%H:%M:%S')} {way}: {lasts:.1f} s, healthy {back:.1f} s later", flush=True)
        time.sleep(given.pause)
        if program.poll() is not None:
            break
    verdict, bad = load.ends(cluster)
    wrong += bad
    said = ""
    try:
        said, _ = program.communicate(timeout=LIMIT_S)
        told = json.loads(said.strip().splitlines()[-1])
        wrong += told["wrong"]
        show(quiet, told, verdict)
        if given.verbose:
            show_longest(verdict["gaps"]["blows"])
        parted = any(one.kind in CUTTING for one in cluster.dealt)
        limit = PARTED_S if parted else UNDISTURBED_S
        wrong += [
            f"{name} waited {told['longest'][name]:.1f} s"
            for name in given.undisturbed
            if told["longest"].get(name, 0) > limit
        ]
    except (ValueError, KeyError, IndexError, subprocess.TimeoutExpired) as error:
        program.kill()
        wrong.append(f"the program said no end: {error!r}: {said[-3000:]}")
    if given.keep and wrong:
        print(f"  {wrong}\n  the nodes run on; enter the lab by: {' '.join(lab.enter())}; Enter ends them")
        sys.stdin.readline()
    if not cluster.dealt:
        wrong.append("nothing was struck")
    return wrong + [f"left: {one}" for one in left([*cluster.heads, cluster.work])]


def show(quiet: dict[str, float], told: dict[str, Any], verdict: dict[str, Any]) -> None:
    """Prints what was measured."""
    if not verdict:
        return
    rate = verdict["calls"] / verdict["seconds"]
    print(f"  {verdict['calls']} calls in {verdict['seconds']:.0f} s ({rate:.0f}/s), in {verdict['keys']} histories")
    print("    {writes} acknowledged writes, {unknown} calls of unknown outcome, {undone} not made".format(**verdict))
    for why in verdict.get("whys") or []:
        print(f"    {why[:300]}")
    gaps = verdict["gaps"]
    print(f"  longest time without an acknowledged write: {gaps['quiet_ms']:.0f} ms before the blows. After a blow,")
    print("  for all programs together, and for the program that waited longest:")
    for kind, one in sorted(gaps["kinds"].items()):
        print(
            "    {0:18} {count:4} times: p50 {p50_ms:5.0f} ms, p99 {p99_ms:5.0f} ms, max {max_ms:5.0f} ms; "
            "p50 {worst_p50_ms:5.0f} ms, max {worst_max_ms:5.0f} ms".format(kind, **one)
        )
    print("  longest step, before the blows and during them:")
    for name, longest in sorted(told["longest"].items()):
        before, during = quiet.get(name, 0) * 1e3, longest * 1e3
        print(f"    {name:10} {told['did'][name]:7} steps: {before:5.0f} ms, {during:5.0f} ms")


def show_longest(gaps: list[dict[str, Any]]) -> None:
    """Prints which blows the longest gaps belong to."""
    ahead = time.time() - time.monotonic()
    for one in sorted(gaps, key=lambda one: -float(one["all_ms"]))[:10]:
        at = ahead + one["at"] / 1e9
        stamp = f"{time.strftime('%H:%M:%S', time.localtime(at))}.{int(at % 1 * 1000):03}"
        print(f"  among the longest: {one['kind']} at {stamp}: {one['all_ms']:.0f} ms")


def main(words: list[str]) -> int:
    """Runs it; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"), help="gives the same blows")
    parser.add_argument("--heads", type=int, choices=(3, 5), default=3, help="how many")
    parser.add_argument("--seconds", type=float, default=150, help="of blows")
    parser.add_argument("--blows", type=int, default=0, help="no more than that")
    parser.add_argument("--only", nargs="*", default=[], choices=list(WAYS), help="ways to strike")
    parser.add_argument("--rate", type=float, default=500, help="calls of keys a second")
    parser.add_argument("--flight", type=int, default=1000, help="tasks in flight")
    parser.add_argument("--actors", type=int, default=30, help="that are called in turn")
    parser.add_argument("--step", type=float, default=0, help="seconds that each part of the work rests between steps")
    parser.add_argument("--quiet", type=float, default=5, help="seconds before the first blow")
    parser.add_argument("--pause", type=float, default=1, help="seconds after each blow")
    parser.add_argument(
        "--undisturbed",
        nargs="*",
        default=["tasks", "calls", "generator"],
        help="parts of the work that may not wait for a head",
    )
    parser.add_argument("--small-disks", action="store_true", help="each head has a disk of its own, which is filled")
    parser.add_argument("--verbose", action="store_true", help="print each blow")
    parser.add_argument("--keep", action="store_true", help="wait before the nodes are stopped when something is wrong")
    given = parser.parse_args(words)
    if why := unavailable():
        print(why)
        return 1
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder, Lab(given.heads + 1) as lab:
        wrong = strike(given, build(Path(folder)), lab, Path(folder))
    for one in wrong[:20]:
        print(f"  WRONG: {one}", flush=True)
    verdict = "FAILED" if wrong else "every answer explained, nothing disturbed, nothing left"
    print(f"heads: {given.heads} heads, seed {given.seed}, {time.monotonic() - start:.0f} s: {verdict}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
