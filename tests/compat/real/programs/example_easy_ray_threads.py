"""easy-ray-threads: a function over a list, where one item fails."""

import sys

import ray

results, sys.stdout = sys.stdout, sys.stderr  # the library logs to the standard output
from easy_ray_threads import Processor  # noqa: E402


def half(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x // 2


if __name__ == "__main__":
    ray.init(num_cpus=2)
    print(sorted(map(str, Processor().process(range(8), half))), file=results)
    print(sorted(Processor().process(["a", "b", "c"], lambda item: item.upper())), file=results)
    ray.shutdown()
