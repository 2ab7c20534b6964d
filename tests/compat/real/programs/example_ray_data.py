"""Ray Data itself: reading, changing, grouping, sorting, splitting and writing."""

import tempfile

import numpy as np
import pandas as pd
import ray

ray.init("local", num_cpus=4, log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
folder = tempfile.mkdtemp()


class Add:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, batch: dict) -> dict:
        return {"id": batch["id"] + self.n}


@ray.remote
def consumed(iterator) -> int:
    return sum(int(batch["id"].sum()) for batch in iterator.iter_batches())


numbers = ray.data.range(1000, override_num_blocks=4)
print(numbers.count(), numbers.map_batches(lambda batch: {"x": batch["id"] * 2}).sum("x"), numbers.schema())
groups = ray.data.from_items([{"a": n, "g": n % 3} for n in range(20)]).groupby("g")
print(groups.sum("a").sort("g").take_all(), groups.count().sort("g", descending=True).take_all())
ray.data.from_pandas(pd.DataFrame({"a": range(50), "b": [str(n) for n in range(50)]})).write_parquet(folder)
written = ray.data.read_parquet(folder)
print(written.filter(lambda row: row["a"] > 40).sort("a", descending=True).take(3), written.count())
print([len(batch["a"]) for batch in written.iter_batches(batch_size=20)])
both = ray.data.from_items([1, 2, 3]).flat_map(lambda row: [{"y": row["item"]}, {"y": -row["item"]}])
print(sorted(row["y"] for row in both.take_all()))
actors = ray.data.ActorPoolStrategy(size=2)
print(ray.data.range(100).map_batches(Add, fn_constructor_args=(5,), compute=actors).sum("id"))
print(
    ray.data.range(100).random_shuffle(seed=1).sum("id"), ray.data.range(10).repartition(3).materialize().num_blocks()
)
print(ray.data.range(6).zip(ray.data.range(6).map(lambda row: {"z": row["id"] ** 2})).take(2))
print(ray.data.range(10).union(ray.data.range(5)).count(), ray.data.range(10).limit(3).take_all())
print([part.count() for part in ray.data.range(10, override_num_blocks=2).split(2, equal=True)])
print(sum(ray.get([consumed.remote(part) for part in ray.data.range(40).streaming_split(2, equal=True)])))
print(ray.data.from_numpy(np.arange(6).reshape(3, 2)).take_all())
print(numbers.mean("id"), round(numbers.std("id"), 6), numbers.max("id"), ray.data.range(5).to_pandas()["id"].tolist())
try:
    ray.data.range(3).map(lambda row: 1 / 0).take_all()
except Exception as error:
    print(type(error).__name__, "ZeroDivisionError" in str(error))
ray.data.range(4).write_csv(folder + "/csv")
ray.data.range(4).write_json(folder + "/json")
print(ray.data.read_csv(folder + "/csv").count(), ray.data.read_json(folder + "/json").sum("id"))
