"""Turns a worker into an actor: loads the class, runs the constructor, then calls on threads or an event loop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NoReturn

from eagleray._private import context
from eagleray._private.calls import actor_kind
from eagleray._private.context import here
from eagleray._private.messages import unpack
from eagleray._private.worker import output
from eagleray._private.worker.actor import Actor

if TYPE_CHECKING:
    from eagleray._private.worker.hosting import HostingWorker


def host(worker: HostingWorker, items: list[tuple[Any, ...]]) -> NoReturn:
    """Runs an actor until it ends.

    Args:
        worker: Whose process becomes the actor's.
        items: What the daemon said. It is taken out, so that nothing keeps the constructor's arguments afterwards.
    """
    _, token, packed, fmt, meta, buffers, deps = items.pop()
    spec = unpack(packed)
    context.become_actor(spec)
    if worker.ran_tasks:  # they may have written past sys.stderr
        output.end_section()
    here.label = title = str(spec["class_name"])
    actor = Actor(worker, spec)
    worker.assigned.apply(spec.get("assignment") or {})

    def construct() -> bool:
        nonlocal meta, buffers, deps
        arguments = (fmt, meta, buffers, deps)
        meta = buffers = deps = None
        worker.hot.show_as(f"{title}.__init__")
        try:
            return actor.construct(token, *arguments)
        finally:
            if actor.constructor is None:
                worker.hot.show_as(title)

    async def construct_rest() -> None:
        try:
            await actor.construct_rest(token)
        finally:
            worker.hot.show_as(title)

    described = spec.get("meta")  # a Go program's actor has none
    known = unpack(described) if described else {}
    if known.get("shared_limit"):
        worker.hot.feed_limit(known["shared_limit"])
    groups: dict[str, int] = known.get("groups") or {}
    cls = actor.load_class()
    if isinstance(cls, type) and actor_kind.is_async(cls):
        from eagleray._private.worker import async_actor

        async_actor.run(actor, construct, construct_rest, spec["max_concurrency"], groups)
    worker.hot.declare_groups(tuple(groups), actor.serve_system)
    if construct():
        threads = [""] * (spec["max_concurrency"] - 1) + [name for name, limit in groups.items() for _ in range(limit)]
        if threads:
            here.running = context.RunningPerThread()
        for group in threads:
            name = f"eagleray-{group}" if group else "eagleray-actor"
            threading.Thread(target=actor.serve, args=(group,), name=name, daemon=True).start()
    actor.serve()
    raise AssertionError("an actor's loop does not end")
