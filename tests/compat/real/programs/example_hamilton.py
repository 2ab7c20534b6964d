"""Hamilton: a graph of functions, each one a task, and a graph whose middle part runs once for each item."""

import sys

import pandas as pd
import ray
from hamilton import base, driver
from hamilton.execution import executors
from hamilton.htypes import Collect, Parallelizable
from hamilton.plugins.h_ray import RayGraphAdapter, RayTaskExecutor


def spend_in_three_weeks(spend: pd.Series) -> pd.Series:
    return spend.rolling(3).mean()


def spend_for_a_signup(spend: pd.Series, signups: pd.Series) -> pd.Series:
    return spend / signups


def mean_spend(spend: pd.Series) -> float:
    return spend.mean()


def centred_spend(spend: pd.Series, mean_spend: float) -> pd.Series:
    return spend - mean_spend


def city(cities: list) -> Parallelizable[str]:
    yield from cities


def letters(city: str) -> int:
    return len(set(city.lower()))


def all_letters(letters: Collect[int]) -> list:
    return sorted(letters)


if __name__ == "__main__":
    here = sys.modules["__main__"]
    start = {"spend": pd.Series([10.0, 10, 20, 40, 40, 50]), "signups": pd.Series([1, 10, 50, 100, 200, 400])}

    adapter = RayGraphAdapter(result_builder=base.PandasDataFrameResult(), ray_init_config={"num_cpus": 2})
    graph = driver.Builder().with_modules(here).with_adapters(adapter).build()
    names = ["spend", "signups", "spend_in_three_weeks", "spend_for_a_signup", "centred_spend"]
    print(graph.execute(names, inputs=start).to_string())

    parts = (
        driver.Builder()
        .enable_dynamic_execution(allow_experimental_mode=True)
        .with_modules(here)
        .with_remote_executor(RayTaskExecutor(skip_init=True))
        .with_local_executor(executors.SynchronousLocalTaskExecutor())
        .build()
    )
    print(parts.execute(["all_letters"], inputs={"cities": ["Lima", "Oslo", "Nairobi", "Quito"]}))
    ray.shutdown()
