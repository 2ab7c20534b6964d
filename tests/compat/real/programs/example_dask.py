"""Dask: arrays, frames and delayed functions with Ray as the scheduler."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import ray
from ray.util.dask import disable_dask_on_ray, enable_dask_on_ray, ray_dask_get


@dask.delayed
def add(a, b):
    return a + b


if __name__ == "__main__":
    ray.init(num_cpus=2)
    numbers = da.arange(10_000, chunks=1000).reshape(100, 100)
    print(float((numbers @ numbers.T).trace().compute(scheduler=ray_dask_get)))
    enable_dask_on_ray()
    frame = dd.from_pandas(pd.DataFrame({"key": np.arange(200) % 4, "value": np.arange(200)}), npartitions=5)
    print(frame.groupby("key").value.agg(["sum", "max"]).compute().sort_index().to_string())
    print(frame.set_index("value").loc[10:12].compute().to_string())
    kept = frame.value.persist()
    print(int(kept.sum().compute()), add(add(1, 2), add(3, 4)).compute())
    disable_dask_on_ray()
    ray.shutdown()
