"""The actor that the HTTP service calls: it stands for a model on a GPU."""

from __future__ import annotations

from typing import Any

import eagleray as ray


class Model:
    """Has a GPU for as long as it lives."""

    def __init__(self) -> None:
        self.gpus = [str(gpu) for gpu in ray.get_gpu_ids()]

    def score(self, x: float) -> dict[str, Any]:
        return {"score": x * x, "gpus": self.gpus}
