"""easy-ray-threads: a function over a list, where one item fails."""

import ray
from easy_ray_threads import Processor


def half(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x // 2


if __name__ == "__main__":
    ray.init(num_cpus=2)
    print(sorted(map(str, Processor().process(range(8), half))))
    print(sorted(Processor().process(["a", "b", "c"], lambda item: item.upper())))
    ray.shutdown()
