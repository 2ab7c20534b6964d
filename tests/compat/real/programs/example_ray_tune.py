"""Ray Tune itself: functions and classes, ASHA, Optuna, restoring, trials that fail, trials in placement groups."""

import contextlib
import io
import json
import os
import tempfile

import optuna
import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search.optuna import OptunaSearch
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ray.init("local", num_cpus=2, log_to_driver=False)
store = tempfile.mkdtemp()
said = []


def settings(name: str, **more) -> tune.RunConfig:
    return tune.RunConfig(storage_path=store, name=name, verbose=0, **more)


class Halving(tune.Trainable):
    def setup(self, config: dict) -> None:
        self.x, self.n = config["x"], 0

    def step(self) -> dict:
        self.n += 1
        return {"loss": self.x / self.n, "done": self.n >= 8}

    def save_checkpoint(self, folder: str) -> None:
        with open(os.path.join(folder, "state"), "w") as file:
            json.dump(self.n, file)

    def load_checkpoint(self, folder: str) -> None:
        with open(os.path.join(folder, "state")) as file:
            self.n = json.load(file)


def fails_once(config: dict) -> None:
    start, last = 0, tune.get_checkpoint()
    if last is not None:
        with last.as_directory() as folder, open(os.path.join(folder, "step")) as file:
            start = int(file.read()) + 1
    for step in range(start, 4):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "step"), "w") as file:
                file.write(str(step))
            tune.report({"step": step, "start": start}, checkpoint=tune.Checkpoint.from_directory(folder))
        if step == 1 and start == 0:
            raise RuntimeError("once")


@ray.remote
def grouped() -> bool:
    return ray.util.get_current_placement_group() is not None


def nested(config: dict) -> None:
    here = PlacementGroupSchedulingStrategy(ray.util.get_current_placement_group())
    tune.report({"grouped": ray.get(grouped.options(scheduling_strategy=here).remote())})


with contextlib.redirect_stdout(io.StringIO()):  # Tune shows times
    best = tune.TuneConfig(metric="loss", mode="min", scheduler=ASHAScheduler(max_t=8, grace_period=2))
    space = {"x": tune.grid_search([1, 2, 4, 8])}
    tuner = tune.Tuner(Halving, param_space=space, tune_config=best, run_config=settings("asha"))
    found = tuner.fit().get_best_result()
    said.append((found.config, found.metrics["loss"]))
    again = tune.Tuner.restore(os.path.join(store, "asha"), Halving).fit()
    said.append((len(again), again.get_best_result().config))

    failing = settings("retried", failure_config=tune.FailureConfig(max_failures=1))
    retried = tune.Tuner(fails_once, run_config=failing).fit()[0]
    said.append((retried.metrics["step"], retried.metrics["start"], retried.error))

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    search = OptunaSearch(sampler=optuna.samplers.TPESampler(seed=1))
    result = tune.Tuner(
        lambda config: tune.report({"v": abs(config["x"] - 0.3)}),
        param_space={"x": tune.uniform(0, 1)},
        tune_config=tune.TuneConfig(metric="v", mode="min", num_samples=6, search_alg=search, max_concurrent_trials=1),
        run_config=settings("optuna"),
    ).fit()
    said.append((len(result), round(result.get_best_result().metrics["v"], 6)))

    bundles = tune.PlacementGroupFactory([{"CPU": 1}, {"CPU": 1}])
    said.append(
        tune.Tuner(tune.with_resources(nested, bundles), run_config=settings("group")).fit()[0].metrics["grouped"]
    )
for line in said:
    print(line)
