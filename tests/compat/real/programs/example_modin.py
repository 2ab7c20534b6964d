"""Modin: data frames of pandas whose parts are objects of the cluster."""

import modin.config
import ray

ray.init("local", num_cpus=2, log_to_driver=False)
modin.config.Engine.put("Ray")

import modin.pandas as pd  # noqa: E402
import numpy as np  # noqa: E402

random = np.random.default_rng(0)
numbers = {name: random.integers(0, most, 1000) for name, most in (("key", 5), ("value", 100), ("other", 10))}
frame = pd.DataFrame(numbers)
names = pd.DataFrame({"key": range(5), "name": list("abcde")})
print(frame.groupby("key")["value"].sum().sort_index().to_dict())
print(frame.sort_values("value").tail(3)["value"].tolist(), int(frame["value"].max()), frame.shape)
print(frame.merge(names, on="key").groupby("name").size().sort_index().to_dict())
print(frame.apply(lambda column: int(column.sum())).to_dict())
