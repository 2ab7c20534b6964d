"""The scheduler: each task of a graph is a task here, and what tasks take of each other goes from worker to worker."""

from __future__ import annotations

import functools
import types
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import cloudpickle
from dask._task_spec import Alias, DataNode, GraphNode, Task, convert_legacy_graph
from dask.callbacks import local_callbacks, unpack_callbacks
from dask.core import flatten
from dask.local import start_state_from_dask
from dask.order import order
from dask.utils import funcname

from eagleray._private.refs import ObjectRef
from eagleray._private.session import api
from eagleray._private.session.decorator import remote
from eagleray.util.dask.callbacks import RayCallbacks, local_ray_callbacks, unpack_ray_callbacks

#: Values of a graph that travel with each task that takes them; others are stored once.
_SMALL = (int, float, complex, bool, type(None))
#: What a callback before a submission returns for "go on".
_ABSENT = object()
#: How many functions of a graph have a name of their own in lists of tasks.
_MOST_NAMES = 200


class _Hole:
    """The place of a reference inside of a task, where Dask does not see it."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> Any:
        return _Hole, (self.index,)


def ray_dask_get(dsk: Any, keys: Any, **kwargs: Any) -> Any:
    """Runs a graph of Dask.

    Args:
        dsk: The graph.
        keys: A key, or a list of keys, which may hold lists.
        **kwargs: ``ray_remote_args`` are options of all tasks, as of ``.options()``; those of
            ``dask.annotate(ray_remote_args=…)`` come first. ``ray_callbacks`` and ``callbacks`` are callbacks of this
            graph alone. ``ray_persist`` gives references instead of values. Other settings of Dask do not concern
            this scheduler.

    Returns:
        The values of the keys.

    Raises:
        RayTaskError: a task raised; it is of the type of that exception, too.
        KeyError: the graph has no such key.
    """
    return _Run(dsk, keys, kwargs, in_place=False).result()


def ray_dask_get_sync(dsk: Any, keys: Any, **kwargs: Any) -> Any:
    """Runs a graph in this process, one task after the other, to debug it. Arguments are those of ``ray_dask_get``."""
    return _Run(dsk, keys, kwargs, in_place=True).result()


class _Run:
    """One graph that runs."""

    def __init__(self, dsk: Any, keys: Any, options: Mapping[str, Any], in_place: bool) -> None:
        self.keys = keys
        self.options = options
        self.in_place = in_place
        self.remote_args = _annotated(dsk)
        if not isinstance(dsk, Mapping):
            dsk = dsk.__dask_graph__()
        self.graph: dict[Any, Any] = convert_legacy_graph(dsk)
        self.wanted: list[Any] = list(flatten(keys)) if isinstance(keys, list) else [keys]
        for key in self.wanted:
            if key not in self.graph:
                raise KeyError(key)
        self.refs: dict[Any, Any] = {}  # what a key is: a reference, or a small value
        self.ours: RayCallbacks = unpack_ray_callbacks(None)
        self.common: dict[str, Any] = dict(options.get("ray_remote_args") or {})
        self._hooks: tuple[Any, Any] | None = None
        self._functions: dict[Any, Any] = {}

    def result(self) -> Any:
        """Submits all, waits for what is wanted, and tells the callbacks."""
        with (
            local_ray_callbacks(self.options.get("ray_callbacks")) as ours,
            local_callbacks(self.options.get("callbacks")) as active,
        ):
            theirs: list[Any] = list(active)
            self.ours = unpack_ray_callbacks(ours)
            if self.ours.ray_pretask or self.ours.ray_posttask:
                self._hooks = self.ours.ray_pretask, self.ours.ray_posttask
            started: list[Any] = []
            state: dict[str, Any] = {}
            failed = True
            try:
                for callback in theirs:
                    if callback[0]:
                        callback[0](self.graph)
                    started.append(callback)
                order_of = order(self.graph)
                if theirs:
                    state = start_state_from_dask(self.graph, keys=set(self.wanted), sortkey=order_of.get)
                    for callback in theirs:
                        if callback[1]:
                            callback[1](self.graph, state)
                self._submit_all(sorted(self.graph, key=order_of.__getitem__), unpack_callbacks(theirs), state)
                found = self._collect()
                failed = False
            finally:
                for callback in started:
                    if callback[4]:
                        callback[4](self.graph, state, failed)
            return found

    def _submit_all(self, ordered: Iterable[Any], theirs: Any, state: dict[str, Any]) -> None:
        left: defaultdict[Any, int] = defaultdict(int)  # how many tasks of each key still have to be submitted
        needed = self._needed()
        for key in needed:
            for dependency in self.graph[key].dependencies:
                left[dependency] += 1
        keep = set(self.wanted)
        for key in ordered:
            if key not in needed:
                continue
            node = self.graph[key]
            is_task = not isinstance(node, (DataNode, Alias))
            if is_task:
                for pretask in theirs[2]:
                    pretask(key, self.graph, state)
            value = self.refs[key] = self._begin(key, node)
            if state:
                _advance(state, key, value)
            if is_task:
                for posttask in theirs[3]:
                    posttask(key, value, self.graph, state, "eagleray")
            for dependency in node.dependencies:
                left[dependency] -= 1
                if not left[dependency] and dependency not in keep:
                    del self.refs[dependency]  # the tasks that take it keep it

    def _needed(self) -> set[Any]:
        """The keys that the wanted ones are made of."""
        found: set[Any] = set()
        stack = list(self.wanted)
        while stack:
            key = stack.pop()
            if key not in found:
                found.add(key)
                stack.extend(self.graph[key].dependencies)
        return found

    def _begin(self, key: Any, node: Any) -> Any:
        """Submits a task. Returns its reference, or the value of a node that is none."""
        if isinstance(node, Alias):
            return self.refs[node.target]
        if isinstance(node, DataNode):
            return _stored(node.value)
        dependencies = {name: self.refs[name] for name in node.dependencies}
        for presubmit in self.ours.ray_presubmit:
            given = presubmit(node, key, dependencies)
            if given is not None:
                return _stored(given)
        hidden: list[Any] = []
        args = _without_refs(node.args, hidden)
        named = _without_refs(node.kwargs, hidden) if node.kwargs else None
        hooks = self._hooks
        if self.in_place:
            values = [_value(one) for one in (*dependencies.values(), *hidden)]
            ref = api.put(_run(node.func, args, named, key, tuple(dependencies), hooks, *values))
        else:
            function, call = self._function(key, node.func)
            ref = call(function, args, named, key, tuple(dependencies), hooks, *dependencies.values(), *hidden)
        for postsubmit in self.ours.ray_postsubmit:
            postsubmit(node, key, dependencies, ref)
        return ref

    def _function(self, key: Any, function: Any) -> tuple[Any, Any]:
        """A task's function as it travels, and the remote function that runs it: of its name and its options."""
        own = self.remote_args.get(key)
        which = id(function), id(own)  # the graph keeps both alive
        found = self._functions.get(which)
        if found is None:
            options = {**self.common, **(own or {})}
            name = funcname(function) if len(self._functions) < _MOST_NAMES else "task"
            options.setdefault("name", f"dask:{name}")
            made = remote(_run).options(**options) if own or self.common else _named(options["name"])
            found = self._functions[which] = _packed(function), made.remote
        return found

    def _collect(self) -> Any:
        persist = bool(self.options.get("ray_persist"))
        if persist:
            for key in self.wanted:
                if not isinstance(self.refs[key], ObjectRef):
                    self.refs[key] = api.put(self.refs[key])
        refs = {key: self.refs[key] for key in self.wanted}
        for postsubmit_all in self.ours.ray_postsubmit_all:
            postsubmit_all(list(refs.values()), self.graph)
        waiting = [] if persist else [key for key, one in refs.items() if isinstance(one, ObjectRef)]
        if waiting:
            refs.update(zip(waiting, api.get([refs[key] for key in waiting]), strict=True))
        listed = isinstance(self.keys, list)
        plain = listed and len(waiting) == len(refs) and not any(isinstance(one, list) for one in self.keys)
        found = _arranged(self.keys, refs)
        if listed and not plain:
            found = tuple(found)
        for finish in self.ours.ray_finish:
            finish(found)
        return found


def _run(
    function: Any,
    args: tuple[Any, ...],
    named: dict[str, Any] | None,
    key: Any,
    names: tuple[Any, ...],
    hooks: tuple[Any, Any] | None,
    *values: Any,
) -> Any:
    """Runs a task of a graph, in a worker."""
    known = dict(zip(names, values, strict=False))
    hidden = values[len(names) :]
    if hidden:
        args, named = _filled(args, hidden), _filled(named, hidden)
    task = Task(key, function, *args, **(named or {}))
    if hooks is None:
        return task(known)
    before, after = hooks
    states = [callback(key, list(known.values())) for callback in before]
    result = task(known)
    for index, callback in enumerate(after):
        callback(key, result, states[index] if index < len(states) else None)
    return result


@functools.lru_cache(maxsize=1000)
def _named(name: str) -> Any:
    """The remote function that graphs without options share."""
    return remote(_run).options(name=name)


class _Packed:
    """A function that is pickled by value: once for a graph, and once unpickled in a worker."""

    def __init__(self, function: Any) -> None:
        self.data = cloudpickle.dumps(function)

    def __reduce__(self) -> Any:
        return _unpacked, (self.data,)


@functools.lru_cache(maxsize=1000)
def _unpacked(data: bytes) -> Any:
    return cloudpickle.loads(data)


def _packed(function: Any) -> Any:
    """A function as it travels."""
    by_value = isinstance(function, functools.partial) or (
        isinstance(function, types.FunctionType) and (function.__module__ == "__main__" or "<" in function.__qualname__)
    )
    return _Packed(function) if by_value else function


def _annotated(dsk: Any) -> dict[Any, Any]:
    """The options of ``dask.annotate(ray_remote_args=…)`` by key."""
    found: dict[Any, Any] = {}
    if hasattr(dsk, "__dask_annotations__"):
        given = dsk.__dask_annotations__().get("ray_remote_args") or {}
        found.update(given)
    for layer in getattr(dsk, "layers", {}).values():
        options = (layer.annotations or {}).get("ray_remote_args")
        if options:
            found.update({key: options(key) if callable(options) else options for key in layer})
    return found


def _advance(state: dict[str, Any], key: Any, value: Any) -> None:
    """Notes for Dask's own callbacks that a task was submitted, which they take for its end."""
    state["cache"][key] = value
    state["finished"].add(key)
    if key in state["ready"]:
        state["ready"].remove(key)
    state["waiting"].pop(key, None)
    for dependent in state["dependents"].get(key, ()):
        waits = state["waiting"].get(dependent)
        if waits is not None:
            waits.discard(key)


def _stored(value: Any) -> Any:
    """A value of the graph as tasks take it."""
    if isinstance(value, ObjectRef):
        return value
    small = isinstance(value, _SMALL) or (isinstance(value, (str, bytes)) and len(value) <= 1000)
    return value if small else api.put(value)


def _value(one: Any) -> Any:
    return api.get(one) if isinstance(one, ObjectRef) else one


def _arranged(keys: Any, values: Mapping[Any, Any]) -> Any:
    """The values in the form of the keys: lists inside of lists are tuples, as in Dask."""
    if not isinstance(keys, list):
        return values[keys]
    return [tuple(_arranged(one, values)) if isinstance(one, list) else values[one] for one in keys]


def _without_refs(node: Any, found: list[Any]) -> Any:
    """A task with a hole in place of each reference that it holds. The references are added to ``found``."""

    def taken(one: Any) -> Any:
        if isinstance(one, ObjectRef):
            found.append(one)
            return _Hole(len(found) - 1)
        return _ABSENT

    return _mapped(node, taken)


def _filled(node: Any, values: tuple[Any, ...]) -> Any:
    """A task with the values in its holes."""
    return _mapped(node, lambda one: values[one.index] if isinstance(one, _Hole) else _ABSENT)


def _mapped(node: Any, change: Any) -> Any:
    """A copy of a task or of its part with some parts changed; the same object when nothing is."""
    changed = change(node)
    if changed is not _ABSENT:
        return changed
    if isinstance(node, DataNode):
        value = _mapped(node.value, change)
        return node if value is node.value else DataNode(node.key, value)
    if isinstance(node, Task):
        args = [_mapped(one, change) for one in node.args]
        named = {name: _mapped(one, change) for name, one in node.kwargs.items()}
        if _same(args, node.args) and _same(named.values(), node.kwargs.values()):
            return node
        fresh = Task(node.key, node.func, *args, **named)
        return fresh
    if isinstance(node, GraphNode):
        return node
    kind = type(node)
    if kind in (list, tuple):
        items = [_mapped(one, change) for one in node]
        return node if _same(items, node) else kind(items)
    if kind is dict:
        parts = {name: _mapped(one, change) for name, one in node.items()}
        return node if _same(parts.values(), node.values()) else parts
    return node


def _same(one: Iterable[Any], other: Iterable[Any]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))
