"""The families of accelerators. Generated from core/internal/accelerator by "make gen": change it there."""

from __future__ import annotations

#: Accelerators by resource name: None where fractions of one device are allowed, else the counts that are (() for any
#: whole number).
ACCELERATORS: dict[str, tuple[int, ...] | None] = {
    "GPU": None,
    "TPU": (1, 2, 4, 8),
    "neuron_cores": (),
    "HPU": (),
    "NPU": None,
}
