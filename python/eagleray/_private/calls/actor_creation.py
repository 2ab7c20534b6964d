"""Errors of an actor's creation: the cluster is too small for the actor, or the actor's name is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eagleray._private.calls.control import fetch_cluster
from eagleray._private.calls.resources import GPU_MEMORY, exceeds, memory_short, shortage, show
from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import Session
from eagleray.exceptions import ActorAlreadyExistsError, ActorUnschedulableError


def check_fits(session: Session, class_name: str, choices: Sequence[Mapping[str, int]]) -> None:
    """Raises when this machine is alone and its totals satisfy neither the actor's request nor an alternative.

    In a cluster the head decides that, which knows all nodes: the first call of the actor raises.
    """

    def impossible() -> bool:
        return all(exceeds(placement, session.totals) for placement in choices)

    by_memory = any(GPU_MEMORY in placement for placement in choices)
    if session.can_grow or session.wait or not (by_memory or impossible()):
        return
    totals = fetch_cluster(session)["totals"]
    session.totals = totals["resources"]
    short = [memory_short(placement, session.totals, totals["largest_gpu"]) for placement in choices]
    if all(why or exceeds(placement, session.totals) for why, placement in zip(short, choices, strict=True)) and any(
        short
    ):
        needs = ", or ".join(show(placement) for placement in choices)
        whys = [why or shortage(placement, session.totals) for why, placement in zip(short, choices, strict=True)]
        raise ActorUnschedulableError(
            f"actor {class_name} needs {needs}, but {'; '.join(dict.fromkeys(whys))}. Ask for less, or wait for it: "
            "init(infeasible='wait')."
        )
    if impossible():
        asked = {"CPU", "GPU"}.union(*choices)
        there = {name: value for name, value in session.totals.items() if name in asked}
        needs = ", or ".join(show(placement) for placement in choices)
        why = "; ".join(dict.fromkeys(shortage(placement, session.totals) for placement in choices))
        raise ActorUnschedulableError(
            f"actor {class_name} needs {needs} but the cluster has at most {show(there)} ({why}). "
            "Ask for less, declare more in init() or `eagleray start`, or wait for it: init(infeasible='wait')."
        )


def explain_error(error: HotError, spec: Mapping[str, Any]) -> Exception:
    """Returns the exception for an error of the core at the creation of an actor with this specification."""
    if error.code == "already_exists":
        name, namespace = spec["name"], spec["namespace"]
        return ActorAlreadyExistsError(
            f"The name {name} (namespace={namespace}) is already taken. Please use a different name or get the "
            f"existing actor using get_actor({name!r}, namespace={namespace!r})"
        )
    return explain(error)
