"""Random programs that put, nest, pass on, drop, cancel and kill, beside a model that knows what lives.

A program is a list of steps, each a name and a number that seeds its choices. A step chooses among what there is when
its turn comes and does nothing if there is nothing, so any part of a program is a program: ``shrink`` relies on it.
"""

from __future__ import annotations

import gc
import os
import random
import signal
from pathlib import Path
from typing import Any

import eagleray as ray
from arena import settles, stats
from processes import until

from chaos import LIMIT
from chaos.boxes import Holder, build, build_and_leave, build_inside, delegate, fail, linger, make, tag_of, through
from chaos.killer import workers
from chaos.losses import Losses
from chaos.model import DRIVER, Census, Deaths, Node
from chaos.travels import Travels

#: Step names with how often they are chosen.
PEACEFUL = {
    "put": 3,
    "task": 3,
    "inside": 2,
    "keep": 3,
    "actor_puts": 2,
    "take": 2,
    "give": 2,
    "drop": 2,
    "forget": 4,
    "open": 2,
    "pass_through": 2,
    "look": 2,
    "wait": 1,
    "fails": 1,
    "cancel": 1,
    "census": 2,
    "open_flow": 2,
    "next_item": 4,
    "close_flow": 1,
    "several": 1,
    "fails_with": 1,
    "capture": 1,
    "relay": 1,
    "entrust": 1,
    "lodge": 1,
    "visit": 1,
    "wait_short": 1,
    "crowd": 1,
    "derive": 2,
    "lose": 2,
    "lose_put": 1,
}
DEADLY = {**PEACEFUL, "kill_worker": 2, "kill_holder": 1}
Step = tuple[str, int]


def program(seed: int, steps: int) -> list[Step]:
    """The program of that seed; every third one kills."""
    chance = random.Random(seed)
    table = DEADLY if seed % 3 == 2 else PEACEFUL
    names = chance.choices(list(table), list(table.values()), k=steps)
    return [(name, chance.getrandbits(32)) for name in names]


def spilled() -> list[Path]:
    """The files of objects that the session's store has no room for."""
    from eagleray._private.state import process

    return list(Path(process.require().session_dir).glob("eagleray_spilled_*/*-*"))


class Run(Travels, Losses):
    """One program at work: its variables are references, each with the model of its object."""

    #: What a census compares.
    counted: tuple[str, ...] = ("objects", "owned", "borrowed")

    def __init__(self, holders: list[Any], daemon: int) -> None:
        super().__init__()
        self.chance = random.Random()
        self.holders = holders
        self.daemon = daemon
        self.pids: list[int] = ray.get([holder.pid.remote() for holder in holders], timeout=LIMIT)
        self.variables: list[tuple[Any, Node]] = []
        self.kept: list[tuple[int, str, Node]] = []
        self.pending: list[tuple[Any, int]] = []
        self.deaths = Deaths()
        self.counter = 0
        self.at = ""

    def run(self, steps: list[Step]) -> None:
        """Does the steps, looks at everything that lives, drops it, and sees it go.

        Raises:
            AssertionError: something was wrong, gone early or kept.
        """
        for number, (name, seed) in enumerate(steps, 1):
            self.at = f"step {number} ({name})"
            self.chance = random.Random(seed)
            getattr(self, name)()
        self.at = "the end"
        self.settle_calls()
        self.end_flows()
        self.look_at_all()
        self.variables.clear()
        self.kept.clear()
        self.ballast.clear()
        self.end_lodgers()
        ray.get([holder.clear.remote() for holder in self.holders], timeout=LIMIT)
        settles(LIMIT, objects=0, used=0, pinned=0, owned=len(self.holders), borrowed=0)
        self.rest()

    def rest(self) -> None:
        """Sees that nothing is left elsewhere."""
        until(lambda: not spilled(), LIMIT, "files of spilled objects go with the objects")

    def home(self, index: int) -> int:
        """The number of the node of a holder, 0 if that is never killed."""
        return 0

    def home_of(self, ref: Any) -> int:
        """The number of the node of a reference's owner, 0 if that is never killed."""
        return 0

    def workers(self) -> list[int]:
        """The workers of all nodes."""
        return workers(self.daemon)

    # What is checked.

    def look_at_all(self) -> None:
        """Reads everything that lives."""
        for ref, node in self.variables:
            self.verify(ref, node)
        for index, name, node in self.kept:
            self.excused(node, lambda index=index, name=name, node=node: self.same(self.opened(index, name), node))

    def excused(self, node: Node, look: Any) -> bool:
        """Looks; an object whose owner was killed may be lost. Whether it is there."""
        try:
            look()
        except ray.exceptions.ObjectLostError as error:
            if not self.deaths.lost(node):
                raise AssertionError(f"object {node.tag} is gone early: {error}") from error
            return False
        return True

    def same(self, found: int, node: Node) -> None:
        assert found == node.tag, f"object {node.tag} is {found}"

    def opened(self, index: int, name: str) -> int:
        """The tag of what a holder keeps."""
        found: int = ray.get(self.holders[index].open.remote(name), timeout=LIMIT)
        return found

    def verify(self, ref: Any, node: Node, lost: bool = False) -> None:
        """Follows the references to the end; what a lost object held may be lost, too."""
        try:
            value = ray.get(ref, timeout=LIMIT)
        except ray.exceptions.ObjectLostError as error:
            if not (lost or self.deaths.lost(node)):
                raise AssertionError(f"object {node.tag} is gone early: {error}") from error
            return
        self.same(tag_of(value), node)
        assert len(value["refs"]) == len(node.inside), f"object {node.tag} holds {len(value['refs'])} references"
        for inner, its in zip(value["refs"], node.inside, strict=True):
            self.verify(inner, its, lost or self.deaths.lost(node))

    def settle_calls(self) -> None:
        """Waits for the calls under way; those of a holder that was killed may have failed."""
        for ref, pid in self.pending:
            try:
                ray.get(ref, timeout=LIMIT)
            except ray.exceptions.RayActorError:
                assert pid in self.deaths.pids, f"the holder {pid} was not killed"
        self.pending.clear()

    def census(self) -> None:
        """What should be gone is gone, also in the middle of a program."""
        if self.deaths.any():
            return  # what the dead leave to others' caches is nobody's promise
        self.settle_calls()
        self.flows.clear()
        others = [*(node for _, _, node in self.kept), *(node for _, node in self.lodgers)]
        wanted = Census.of([node for _, node in self.variables], others, self.deaths)
        all_more = {"objects": len(self.ballast), "owned": len(self.holders), "borrowed": 0}
        more = {name: all_more[name] for name in self.counted}
        found: dict[str, int] = {}

        def counted() -> bool:
            nonlocal found
            gc.collect()
            now = stats()
            found = {name: now[name] - number for name, number in more.items()}
            bounds = {name: getattr(wanted, name) for name in more}
            return all(least <= found[name] <= most for name, (least, most) in bounds.items())

        try:
            until(counted, LIMIT)
        except TimeoutError:
            raise AssertionError(f"expected {wanted}, found {found}") from None

    # What is made.

    def new(self, owner: int) -> tuple[bool, list[Any], Node]:
        """A fresh object's size, up to three references to put inside, and its model."""
        self.counter += 1
        chosen = self.chance.sample(self.variables, min(self.chance.randint(0, 3), len(self.variables)))
        if self.chance.random() < 0.3:
            chosen = []
        large = self.chance.random() < 0.5
        nodes = [node for _, node in chosen]
        return large, [ref for ref, _ in chosen], Node(self.counter, large, owner, nodes, given=nodes)

    def name(self) -> str:
        self.counter += 1
        return f"n{self.counter}"

    def put(self) -> None:
        large, refs, node = self.new(DRIVER)
        self.variables.append((ray.put(make(node.tag, large, refs)), node))

    def task(self) -> None:
        large, refs, node = self.new(DRIVER)
        node.made = True
        self.variables.append((build.remote(node.tag, large, refs), node))

    def inside(self) -> None:
        large, refs, node = self.new(-1)
        (how,) = self.chance.choices([build_inside, build_and_leave, delegate], [5, 1, 1])
        node.owner, ref = ray.get(how.remote(node.tag, large, refs), timeout=LIMIT)
        node.home = self.home_of(ref)
        self.makers.add(node.owner)
        self.variables.append((ref, node))

    def actor_puts(self) -> None:
        index, name = self.chance.randrange(len(self.holders)), self.name()
        large, refs, node = self.new(self.pids[index])
        node.home = self.home(index)
        self.pending.append((self.holders[index].put.remote(name, node.tag, large, refs), self.pids[index]))
        self.kept.append((index, name, node))

    # What is passed on.

    def keep(self) -> None:
        if self.variables:
            ref, node = self.chance.choice(self.variables)
            index, name = self.chance.randrange(len(self.holders)), self.name()
            self.pending.append((self.holders[index].keep.remote(name, [ref]), self.pids[index]))
            self.kept.append((index, name, node))

    def take(self) -> None:
        if self.kept:
            index, name, node = self.chance.choice(self.kept)
            (ref,) = ray.get(self.holders[index].take.remote(name), timeout=LIMIT)
            self.variables.append((ref, node))

    def give(self) -> None:
        if self.kept:
            index, name, node = self.chance.choice(self.kept)
            other, new = (index + 1) % len(self.holders), self.name()
            ray.get(self.holders[index].give.remote(name, self.holders[other], new), timeout=LIMIT)
            self.kept.append((other, new, node))

    def open(self) -> None:
        """What is inside becomes variables of their own."""
        whole = [(ref, node) for ref, node in self.variables if not self.deaths.lost(node)]
        if whole:
            ref, node = self.chance.choice(whole)
            refs = ray.get(ref, timeout=LIMIT)["refs"]
            self.variables += zip(refs, node.inside, strict=True)

    def pass_through(self) -> None:
        """References go into a task and come back while the variables may be gone."""
        if self.variables:
            ref, node = self.chance.choice(self.variables)
            chosen = self.chance.sample(self.variables, min(2, len(self.variables)))
            found = through.remote(ref, [one for one, _ in chosen])
            for _ in range(self.chance.randint(0, 2)):
                self.forget()
            del ref
            nodes = [its for _, its in chosen]
            chosen.clear()
            back: list[Any] = []
            if self.excused(node, lambda: back.extend(ray.get(found, timeout=LIMIT))):
                self.same(back[0], node)
                self.variables += zip(back[1:], nodes, strict=True)

    # What is let go.

    def drop(self) -> None:
        if self.kept:
            index, name, _ = self.kept.pop(self.chance.randrange(len(self.kept)))
            self.pending.append((self.holders[index].drop.remote(name), self.pids[index]))

    def forget(self) -> None:
        if self.variables:
            self.variables.pop(self.chance.randrange(len(self.variables)))

    # What is looked at.

    def look(self) -> None:
        if self.variables:
            self.verify(*self.chance.choice(self.variables))

    def wait(self) -> None:
        if self.variables:
            refs = list(dict.fromkeys(ref for ref, _ in self.variables))
            ready, left = ray.wait(refs, num_returns=len(refs), timeout=LIMIT)
            assert len(ready) == len(refs) and not left, f"{len(left)} of {len(refs)} do not get ready"

    # What goes wrong.

    def some(self) -> list[Any]:
        return [ref for ref, _ in self.chance.sample(self.variables, min(2, len(self.variables)))]

    def fails(self) -> None:
        """A task fails with references in its hands."""
        found = fail.remote(self.some())
        try:
            ray.get(found, timeout=LIMIT)
        except ValueError:
            return
        raise AssertionError("a task that fails did not")

    def cancel(self) -> None:
        """A task with references in its hands is cancelled, before it starts, while it runs or after."""
        found = linger.remote(self.some(), self.chance.choice([0, 0.002, 5]))
        if self.chance.random() < 0.5:
            ray.wait([found], timeout=self.chance.choice([0, 0.005]))
        force = self.chance.random() < 0.3
        self.deaths.forced |= force
        if force:
            self.owners_know()
        ray.cancel(found, force=force)
        try:
            ray.get(found, timeout=LIMIT)
        except (ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError):
            return

    def owners_know(self) -> None:
        """Waits until every owner has heard that this process holds its objects.

        That takes about a millisecond after a reference has come. When the process that it came from, and the last
        other one that held it, is killed before, the owner lets go of the object: nobody promises that it is kept. An
        owner answers what is asked behind the registration, so its answer shows that it has heard.
        """
        others = {ref for ref, node in self.variables if node.owner != DRIVER}
        if others:
            ready, _ = ray.wait([*others], num_returns=len(others), timeout=LIMIT, fetch_local=False)
            assert len(ready) == len(others), "an owner does not answer"

    def kill_worker(self) -> None:
        """Any worker, holders' excepted."""
        self.owners_know()
        victims = [pid for pid in self.workers() if pid not in {*self.pids, *self.spared.values()}]
        if victims:
            self.kill(self.chance.choice(victims))

    def kill_holder(self) -> None:
        """What it kept is let go, what it owned is lost; another takes its place."""
        index = self.chance.randrange(len(self.holders))
        self.owners_know()
        self.settle_calls()  # else a call of another holder's that is under way is lost with it
        self.kept = [entry for entry in self.kept if entry[0] != index]
        if self.chance.random() < 0.5:
            self.deaths.pids.add(self.pids[index])
            ray.kill(self.holders[index])
        else:
            self.kill(self.pids[index])
        self.replace(index)

    def replace(self, index: int) -> None:
        """Puts a new holder in the place of one that was killed; an idle worker that was killed is not its own."""
        self.holders[index] = self.holder(index)
        self.pids[index] = ray.get(self.holders[index].pid.remote(), timeout=LIMIT)

    def holder(self, index: int) -> Any:
        """A new holder."""
        return Holder.remote()

    def kill(self, pid: int) -> None:
        self.deaths.pids.add(pid)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
