"""ray-ease: functions and classes that run as tasks and actors while they look like local ones."""

import ray
import ray_ease as rez


@rez.parallelize
def square(x):
    return x * x


@rez.parallelize(num_cpus=1)
class Account:
    def __init__(self, start):
        self.amount = start

    def add(self, more):
        self.amount += more
        return self.amount


if __name__ == "__main__":
    rez.init(num_cpus=2)
    account = Account(10)
    print(rez.retrieve([account.add(i) for i in range(5)], ordered=True))
    print(rez.retrieve([square(i) for i in range(10)], ordered=True))
    ray.shutdown()
