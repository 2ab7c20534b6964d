"""Optuna: trials that are asked for, evaluated as tasks with joblib's backend `ray`, and told."""

import joblib
import optuna
import ray
from ray.util.joblib import register_ray


def height(x: float, y: int) -> float:
    return (x - 2) ** 2 + (y - 3) ** 2


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ray.init(num_cpus=2)
    register_ray()
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=7))
    with joblib.parallel_backend("ray", n_jobs=2):
        for _ in range(6):
            trials = [study.ask() for _ in range(4)]
            points = [(one.suggest_float("x", -10, 10), one.suggest_int("y", -10, 10)) for one in trials]
            heights = joblib.Parallel()(joblib.delayed(height)(*point) for point in points)
            for trial, value in zip(trials, heights, strict=True):
                study.tell(trial, value)
    print(len(study.trials), study.best_trial.number, f"{study.best_value:.9f}", study.best_params["y"])
    ray.shutdown()
