"""Amounts of resources: checking what users ask for, and the integer units that travel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eagleray._private import native
from eagleray._private.families import ACCELERATORS
from eagleray._private.sizes import MOST_BYTES, parse_bytes, show_bytes
from eagleray._private.state import UNIT

#: The resource that counts bytes of GPU memory.
GPU_MEMORY = "gpu_memory"
#: The value of ``max_calls`` with which a worker ends only when its device memory grows.
ON_LEAK = "on_leak"
#: The amount that a task requests of an accelerator type's resource, which only nodes with that type have.
_TYPE_AMOUNT = 0.001


def check_quantity(name: str, value: Any) -> None:
    """Raises ValueError for an amount that is negative, too large or finer than 0.0001."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"The resource quantity of {name!r} must be a finite number, got {value!r}")
    if value < 0:
        raise ValueError(f"The resource quantity of {name!r} must be nonnegative, got {value!r}")
    if value > MOST_BYTES:
        raise ValueError(f"The resource quantity of {name!r} is too large: at most {MOST_BYTES:.0e}, got {value!r}")
    if name != "memory" and abs(value * UNIT - round(value * UNIT)) > 1e-6 * max(1.0, abs(value)):
        raise ValueError(
            f"The precision of the fractional quantity of resource {name} cannot go beyond 0.0001, got {value!r}"
        )


#: The longest name of a resource, in bytes. Names are repeated in many messages.
_LONGEST_NAME = 64 << 10


def check_name_length(what: str, name: str) -> None:
    """Raises for a name that is too long for messages."""
    if len(name.encode(errors="surrogatepass")) > _LONGEST_NAME:
        raise ValueError(
            f"{what} has {len(name)} characters, at most {_LONGEST_NAME} are allowed; it begins {name[:60]!r}"
        )


def check_custom(name: str, value: Mapping[Any, Any]) -> None:
    """Raises for a ``resources=`` dictionary that cannot be granted."""
    for key, amount in value.items():
        if not isinstance(key, str):
            raise TypeError(f"The names in 'resources' must be strings, got {key!r}")
        check_name_length("the name of a resource", key)
        if not isinstance(amount, (int, float)):
            raise TypeError(f"The amounts in 'resources' must be numbers, got {key!r}: {amount!r}")
        if key in ("CPU", "GPU"):
            raise ValueError(f"Use the 'num_{key.lower()}s' keyword instead of {key!r} in 'resources'")
        if key in ("memory", "object_store_memory", GPU_MEMORY):
            raise ValueError(f"Use the {key!r} keyword instead of {key!r} in 'resources'")
        check_quantity(key, amount)
    _check_whole(value)


def check_gpu_memory(name: str, value: Any) -> None:
    """Raises if the value is no size of memory."""
    parse_bytes(name, value)


def check_together(options: Mapping[str, Any]) -> None:
    """Raises for options that are useless without others."""
    if options.get("gpu_memory_enforce") and options.get(GPU_MEMORY) is None:
        raise ValueError("gpu_memory_enforce=True needs gpu_memory: the share that must not be exceeded")
    if options.get("max_calls") == ON_LEAK and not uses_accelerator(_amounts(options)):
        raise ValueError(
            f"max_calls={ON_LEAK!r} watches the memory of devices, and this function has none: give it num_gpus, "
            "gpu_memory or another accelerator"
        )


def _amounts(options: Mapping[str, Any]) -> dict[str, float]:
    """Returns the resources that the options state, in the user's units."""
    found: dict[str, float] = dict(options.get("resources") or {})
    for option, name in (("num_cpus", "CPU"), ("num_gpus", "GPU"), ("memory", "memory")):
        value = options.get(option)
        if value is not None:
            found[name] = int(value) if name == "memory" else value  # bytes are whole, as under Ray
    if options.get(GPU_MEMORY) is not None:
        found[GPU_MEMORY] = parse_bytes(GPU_MEMORY, options[GPU_MEMORY])
    if options.get("accelerator_type"):
        found[f"accelerator_type:{options['accelerator_type']}"] = _TYPE_AMOUNT
    return found


def _check_whole(amounts: Mapping[str, float]) -> None:
    """Raises ValueError for a part of an accelerator that cannot be shared, or a count that it does not come in."""
    for name, allowed in ACCELERATORS.items():
        value = amounts.get(name)
        if not value or allowed is None:
            continue
        if value != int(value):
            raise ValueError(f"{name}: asked for {value}; it must be a whole number, this accelerator cannot be shared")
        if allowed and value not in allowed:
            counts = ", ".join(map(str, allowed))
            raise ValueError(f"{name}: asked for {value:g}; the chips of a host can be used in groups of {counts}")


def check_devices(amounts: Mapping[str, float]) -> None:
    """Raises ValueError for an amount of an accelerator that no node can give, as core/internal/accelerator does."""
    _check_whole(amounts)
    for name, allowed in ACCELERATORS.items():
        value = amounts.get(name, 0)
        if allowed is None and value > 1 and value != int(value):
            raise ValueError(f"{name}: asked for {value}; it must be a whole number or a fraction below 1")


def to_units(amounts: Mapping[str, float]) -> dict[str, int]:
    """Converts amounts to integer units, and leaves zeros out."""
    units = {name: round(value * UNIT) for name, value in amounts.items()}
    return {name: value for name, value in sorted(units.items()) if value > 0}


def from_units(units: Mapping[str, int]) -> dict[str, float]:
    """Converts amounts from integer units to the user's units."""
    return {name: value / UNIT for name, value in units.items()}


def task_resources(options: Mapping[str, Any]) -> dict[str, int]:
    """Returns the resources of a task: one CPU unless the options state otherwise."""
    amounts = _amounts(options)
    amounts.setdefault("CPU", 1)
    check_devices(amounts)
    return to_units(amounts)


def actor_resources(options: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the resources that an actor needs to be placed, and those that it holds while it lives.

    An actor that states nothing, or only memory, needs one CPU to be placed and holds none. An actor that states
    resources holds them, and one CPU unless it states a number of CPUs.
    """
    amounts = _amounts(options)
    check_devices(amounts)
    if set(amounts) <= {"memory"}:
        return to_units({**amounts, "CPU": 1}), to_units(amounts)
    amounts.setdefault("CPU", 1)
    return to_units(amounts), to_units(amounts)


def uses_accelerator(amounts: Mapping[str, float]) -> bool:
    """Reports whether a request, in integer or user's units, contains a device."""
    return any(amounts.get(name) for name in (GPU_MEMORY, *ACCELERATORS))


def exceeds(units: Mapping[str, int], totals: Mapping[str, int]) -> bool:
    """Reports whether a request exceeds the totals."""
    return any(value > totals.get(name, 0) for name, value in units.items())


def shortage(units: Mapping[str, int], totals: Mapping[str, int]) -> str:
    """Returns the part of a request that exceeds the totals, and the most similar resource that exists."""
    found: str = native.core().pybind_Shortage(json.dumps(dict(units)), json.dumps(dict(totals)))
    return found


def memory_short(units: Mapping[str, int], totals: Mapping[str, int], largest: int) -> str:
    """Returns why no device has the memory that a request wants of one device; empty if a device has it.

    Args:
        units: The request.
        totals: The totals of the cluster.
        largest: The bytes of the device with the most memory, 0 if none is known.
    """
    asked = units.get(GPU_MEMORY, 0) // UNIT
    if asked <= largest:
        return ""
    if not totals.get("GPU"):
        return "the cluster has no GPU"
    if not largest:
        return (
            "how much memory the cluster's GPUs have is not known: declare it, init(gpu_memory='16GiB') or "
            "`eagleray start --gpu-memory=16GiB`"
        )
    return f"the largest GPU has {show_bytes(largest)} of memory"


def show(units: Mapping[str, int]) -> str:
    """Formats amounts for messages: ``{"CPU": 2, "GPU": 0.5}``."""
    parts = []
    for name, value in sorted(units.items()):
        amount = value / UNIT
        if name == GPU_MEMORY:
            parts.append(f'"{name}": {show_bytes(int(amount))}')
            continue
        parts.append(f'"{name}": {int(amount) if amount == int(amount) else amount}')
    return "{" + ", ".join(parts) + "}"
