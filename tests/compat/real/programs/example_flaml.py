"""FLAML: its search of parameters, whose trials are those of Ray Tune."""

import contextlib
import io
import os
import tempfile

import ray

os.environ["HOME"] = tempfile.mkdtemp()
ray.init("local", num_cpus=2, log_to_driver=False)

from flaml import tune  # noqa: E402


def evaluate(config: dict) -> dict:
    return {"loss": (config["x"] - 3) ** 2 + config["y"]}


with contextlib.redirect_stdout(io.StringIO()):  # Tune shows times
    found = tune.run(
        evaluate,
        config={"x": tune.randint(0, 8), "y": tune.randint(0, 3)},
        metric="loss",
        mode="min",
        num_samples=12,
        use_ray=True,
        resources_per_trial={"cpu": 1},
        verbose=0,
    )
print(len(found.trials), sorted(found.best_config))
