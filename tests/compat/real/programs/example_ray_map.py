"""ray-map: a function over many arguments in batches, in order, as they come, and with a checkpoint."""

import tempfile

import ray
from ray_map import RayMap


def square(x):
    return x * x


if __name__ == "__main__":
    ray.init(num_cpus=2)
    with tempfile.TemporaryDirectory() as folder:
        squares = RayMap(square, batch_size=4, checkpoint_path=f"{folder}/done.pkl")
        print(list(squares.imap(range(10))))
        print(sorted(squares.imap(range(12), keep_order=False)))
        print(RayMap(square, batch_size=2, max_pending=3).map(range(8)))
    ray.shutdown()
