"""Daft: a data frame whose filters, groups, joins and functions run on Ray."""

import daft
import ray
from daft import col


@daft.func
def shout(text: str) -> str:
    return text.upper() + "!"


if __name__ == "__main__":
    ray.init(num_cpus=2)
    daft.set_runner_ray()
    people = daft.from_pydict({"id": [1, 2, 3, 4], "name": ["ada", "bob", "cy", "dee"], "team": ["a", "b", "a", "b"]})
    hours = daft.from_pydict({"id": [1, 1, 2, 3, 4, 4], "hours": [5, 2, 8, 1, 3, 4]})
    joined = people.join(hours, on="id")
    print(joined.groupby("team").agg(col("hours").sum()).sort("team").to_pydict())
    print(people.where(col("id") > 2).select(shout(col("name"))).to_pydict())
    print(people.repartition(3).sort("name", desc=True).select("id").to_pydict(), people.count_rows())
    ray.shutdown()
