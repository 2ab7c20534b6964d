"""Pieces of programs that work while heads are lost, replaced or upgraded: each part does its step again and again."""

from __future__ import annotations

#: An actor that counts.
COUNTER = """
    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self):
            self.n += 1
            return self.n
"""

#: Calls an actor of its own node and makes a new one, whenever a line comes. Its words are those of ``init``.
CALLS = f"""
    import sys

    import eagleray as ray

    ray.init(*sys.argv[1:])
{COUNTER}
    counter = Counter.remote()
    print(ray.get(counter.add.remote()), flush=True)
    for line in sys.stdin:
        new = Counter.remote()
        print(ray.get([counter.add.remote(), new.add.remote()], timeout=120), flush=True)
"""

#: The begin of a program whose steps are functions of how often they were done. The program ends with ``work(…)``,
#: which does the steps until a line comes, and prints JSON: what went wrong, how often each step was done, how long the
#: longest one took, and what ``later`` has found.
BEGINS = f"""
    import json
    import threading
    import time

    import eagleray as ray

    ray.init(namespace="works", log_to_driver=False)
{COUNTER}
    @ray.remote(num_cpus=0, num_returns="streaming")
    def counts():
        n = 0
        while True:
            yield n
            n += 1
            time.sleep(0.005)

    over, longest, did, wrong = threading.Event(), {{}}, {{}}, []

    def again(step):
        name, n = step.__name__, 0
        try:
            while not over.is_set():
                begun = time.monotonic()
                step(n)
                n += 1
                longest[name] = max(longest.get(name, 0), time.monotonic() - begun)
        except Exception as error:
            wrong.append(f"{{name}}: {{error!r}}")
        did[name] = n

    def work(*steps, later=lambda: None):
        threads = [threading.Thread(target=again, args=(step,)) for step in steps]
        for t in threads:
            t.start()
        print("works", flush=True)
        input()
        ends = later()
        over.set()
        for t in threads:
            t.join()
        print(json.dumps([wrong, did, longest, ends and ends()]))

    def calls(n):
        assert ray.get(counter.add.remote(), timeout=60) == n + 1

    def generator(n):
        assert ray.get(next(open_generator), timeout=60) == n

    def actors(n):
        made = Counter.options(**elsewhere).remote()
        assert ray.get(made.add.remote(), timeout=60) == 1

    def names(n):
        assert ray.get_actor("counter") == counter

    elsewhere = {{}}
"""
