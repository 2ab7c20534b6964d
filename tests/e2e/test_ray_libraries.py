"""Ray's own libraries run here unchanged: Data, Tune and Train in drivers and workers, on one node and on two."""

from __future__ import annotations

import re
from pathlib import Path

import libraries
import pytest

pytestmark = pytest.mark.timeout(300)


def test_data_and_tune_run_in_a_program_that_says_ray(tmp_path: Path) -> None:
    source = """
        import importlib.util, os, sys
        import ray

        @ray.remote
        def loaded():
            return "ray.data" in sys.modules and "pyarrow" in sys.modules

        ray.init("local", num_cpus=2, log_to_driver=False)
        say(ray.get(loaded.remote()), importlib.util.find_spec("ray.data") is not None, "ray.data" in sys.modules)
        data = ray.data  # nobody has imported it, as under Ray
        import eagleray.data.context
        from eagleray import data as same
        assert same is data and eagleray.data.context is data.context and data.Dataset.__module__ == "ray.data.dataset"
        say(ray.get(loaded.remote()))  # the process that workers are forked from has imported it

        data.DataContext.get_current().enable_progress_bars = False
        numbers = data.range(100, override_num_blocks=2)
        say(numbers.map_batches(lambda batch: {"x": batch["id"] * 2}).sum("x"), numbers.count())
        items = data.from_items([{"a": n, "g": n % 3} for n in range(20)])
        say(items.groupby("g").sum("a").sort("g", descending=True).take_all())
        files = os.path.expanduser("~/files")
        items.write_parquet(files)
        say([len(batch["a"]) for batch in data.read_parquet(files).iter_batches(batch_size=8)])

        class Add:
            def __init__(self, n):
                self.n = n

            def __call__(self, batch):
                return {"id": batch["id"] + self.n}

        added = numbers.map_batches(Add, fn_constructor_args=(5,), compute=data.ActorPoolStrategy(size=1))
        say(sum(int(batch["id"].sum()) for batch in added.iter_batches()))

        from ray import tune

        def objective(config):
            for step in range(3):
                tune.report({"score": config["a"] ** 2 + step})

        found = tune.run(
            objective, config={"a": tune.grid_search([1, 2, 3])}, resources_per_trial={"cpu": 1}, verbose=0,
            metric="score", mode="min", scheduler=tune.schedulers.ASHAScheduler(max_t=3, grace_period=3),
        )
        say(sorted(trial.last_result["score"] for trial in found.trials), found.best_config)
    """
    assert libraries.run(source, tmp_path) == [
        "False True False",
        "True",
        "9900 100",
        "[{'g': 2, 'sum(a)': 57}, {'g': 1, 'sum(a)': 70}, {'g': 0, 'sum(a)': 63}]",
        "[8, 8, 4]",
        "5450",
        "[3, 6, 11] {'a': 1}",
    ]


def test_the_program_of_the_guide_prints_what_it_says(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "libraries.md").read_text()
    (block,) = re.findall(r"(?s)^```python\n(.*?)^```", guide, re.MULTILINE)
    said = re.findall(r"(?m)^print\(.*\)  # (.*)$", block)
    program = re.sub(r"(?m)^print\(", "say(", block).replace("ray.init()", 'ray.init("local", num_cpus=2)')
    assert len(said) == 2 and libraries.run(program, tmp_path) == said


def test_another_node_gets_the_libraries_of_the_programs_machine(tmp_path: Path) -> None:
    source = """
        import os, sys
        import eagleray as ray
        from eagleray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        cluster.add_node(num_cpus=1, resources={"other": 1})
        ray.init(address=cluster.address, log_to_driver=False)
        from eagleray import data

        @ray.remote(num_cpus=0, resources={"other": 1})
        def there():
            import ray.data
            return ray.data.__file__, os.path.exists(os.path.join(os.path.dirname(ray.data.__file__), "__pycache__"))

        here = os.path.dirname(data.__file__)
        for environment in (None, {"env_vars": {"A": "1"}}, {"py_modules": [os.path.expanduser("~/module")]}):
            os.makedirs(os.path.expanduser("~/module"), exist_ok=True)
            file, compiled = ray.get(there.options(runtime_env=environment).remote())
            ending = "/eagleray_ray_libraries/ray/data/__init__.py"
            say("/packages/" in file, file.startswith(here), file.endswith(ending))
        data.DataContext.get_current().enable_progress_bars = False
        say(data.range(60, override_num_blocks=4).map_batches(lambda batch: {"x": batch["id"] * 2}).sum("x"))
        ray.shutdown()
        cluster.shutdown()
    """
    assert libraries.run(source, tmp_path, as_ray=False) == [*["True False True"] * 3, "3540"]


@pytest.mark.slow
def test_tune_restores_a_run_and_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    source = """
        import json, os, tempfile
        import ray
        from ray import tune
        from ray.tune.schedulers import ASHAScheduler

        ray.init("local", num_cpus=2, log_to_driver=False)
        store = os.path.expanduser("~/results")

        class Halving(tune.Trainable):
            def setup(self, config):
                self.x, self.n = config["x"], 0

            def step(self):
                self.n += 1
                return {"loss": self.x / self.n, "done": self.n >= 8}

            def save_checkpoint(self, folder):
                with open(os.path.join(folder, "state"), "w") as file:
                    json.dump(self.n, file)

            def load_checkpoint(self, folder):
                with open(os.path.join(folder, "state")) as file:
                    self.n = json.load(file)

        def settings(name, **more):
            return tune.RunConfig(storage_path=store, name=name, verbose=0, **more)

        best = tune.TuneConfig(metric="loss", mode="min", scheduler=ASHAScheduler(max_t=8, grace_period=2))
        tuner = tune.Tuner(
            tune.with_resources(Halving, {"cpu": 1}), param_space={"x": tune.grid_search([1, 2, 4, 8])},
            tune_config=best, run_config=settings("asha"),
        )
        found = tuner.fit().get_best_result()
        say(found.config, found.metrics["loss"])
        again = tune.Tuner.restore(os.path.join(store, "asha"), Halving).fit()
        say(len(again), again.get_best_result().config)

        def fails_once(config):
            start, last = 0, tune.get_checkpoint()
            if last is not None:
                with last.as_directory() as folder:
                    start = int(open(os.path.join(folder, "step")).read()) + 1
            for step in range(start, 4):
                with tempfile.TemporaryDirectory() as folder:
                    with open(os.path.join(folder, "step"), "w") as file:
                        file.write(str(step))
                    tune.report({"step": step, "start": start}, checkpoint=tune.Checkpoint.from_directory(folder))
                if step == 1 and start == 0:
                    raise RuntimeError("once")

        config = settings("retried", failure_config=tune.FailureConfig(max_failures=1))
        retried = tune.Tuner(fails_once, run_config=config).fit()[0]
        say(retried.metrics["step"], retried.metrics["start"], retried.error)
    """
    assert libraries.run(source, tmp_path) == [
        "{'x': 1} 0.125",
        "4 {'x': 1}",
        "3 2 None",
    ]


@pytest.mark.slow
def test_train_runs_workers_with_a_dataset_and_goes_on_from_a_checkpoint_when_one_dies(tmp_path: Path) -> None:
    source = """
        import os, signal, tempfile
        import ray, ray.data, ray.train
        from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

        ray.init("local", num_cpus=4, log_to_driver=False)

        def loop(config):
            context = ray.train.get_context()
            rows = sum(len(batch["id"]) for batch in ray.train.get_dataset_shard("train").iter_batches(batch_size=7))
            start, last = 0, ray.train.get_checkpoint()
            if last is not None:
                with last.as_directory() as folder:
                    start = int(open(os.path.join(folder, "step")).read()) + 1
            for step in range(start, 3):
                with tempfile.TemporaryDirectory() as folder:
                    with open(os.path.join(folder, "step"), "w") as file:
                        file.write(str(step))
                    saved = ray.train.Checkpoint.from_directory(folder) if context.get_world_rank() == 0 else None
                    report = {"step": step, "start": start, "rows": rows, "size": context.get_world_size()}
                    ray.train.report(report, checkpoint=saved)
                if step == 1 and start == 0 and context.get_world_rank() == 1:
                    os.kill(os.getpid(), signal.SIGKILL)

        result = DataParallelTrainer(
            loop, train_loop_config={}, scaling_config=ray.train.ScalingConfig(num_workers=2),
            run_config=ray.train.RunConfig(
                storage_path=os.path.expanduser("~/results"), name="parallel",
                failure_config=ray.train.FailureConfig(max_failures=1),
            ),
            datasets={"train": ray.data.range(40)},
        ).fit()
        say(result.metrics["step"], result.metrics["start"] > 0, result.metrics["rows"], result.metrics["size"])
        say(result.checkpoint is not None, result.error)
    """
    assert libraries.run(source, tmp_path) == ["2 True 20 2", "True None"]
