"""Fugue: functions on data frames, run for each part of a dataset of Ray Data."""

import ray

ray.init("local", num_cpus=4, log_to_driver=False)

import fugue.api  # noqa: E402
import pandas as pd  # noqa: E402


def doubled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(z=frame["x"] * 2)


def largest(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values("x").tail(1)


def shown(found) -> None:
    print(sorted(map(tuple, fugue.api.as_pandas(found).values.tolist())))


numbers = pd.DataFrame({"g": [1, 2, 1, 2], "x": [1, 2, 3, 4]})
options = {"engine": "ray", "as_local": True}
shown(fugue.api.transform(numbers, doubled, schema="*,z:long", **options))
shown(fugue.api.transform(numbers, largest, schema="*", partition={"by": "g"}, **options))
