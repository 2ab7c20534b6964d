"""The program that works while heads are struck: tasks, actors, a generator, changes of the state.

It runs on a node and prints, when its input closes, JSON: what went wrong, how often each part did its step, and how
long the longest step took. Each part rests between its steps, for a time that is given. The parts ``tasks``, ``calls``,
``generator`` and ``exclusive`` need no head; ``actors`` and ``names`` do.
"""

from __future__ import annotations

from steadywork import COUNTER

WORK = (
    """
    import collections
    import fcntl
    import json
    import os
    import sys
    import threading
    import time

    import eagleray as ray

    flight, count, folder, rest = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    ray.init(namespace="struck", log_to_driver=False)
"""
    + COUNTER
    + """
    @ray.remote(num_cpus=0, exclusive=True, max_restarts=-1, max_task_retries=-1)
    class Alone:
        def act(self):
            with open(folder + "/alone", "a") as f:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails when another one acts
                time.sleep(0.01)
            return os.getpid()

    @ray.remote(num_cpus=0, num_returns="streaming")
    def counts():
        n = 0
        while True:
            yield n
            n += 1
            time.sleep(0.002)

    @ray.remote(num_cpus=0.1, max_retries=0)
    def double(n):
        return 2 * n

    counters = [Counter.remote() for _ in range(count)]
    assert ray.get([c.add.remote() for c in counters], timeout=120) == [1] * count
    named, alone, stream = Counter.options(name="named").remote(), Alone.remote(), counts.remote()
    pids = {ray.get(alone.act.remote(), timeout=60)}
    ray.get(next(stream), timeout=60)
    waiting = collections.deque()
    over, longest, did, wrong = threading.Event(), {}, {}, []

    def works(step):
        name, n = step.__name__, 0
        try:
            while not over.is_set():
                begun = time.monotonic()
                step(n)
                n += 1
                took = time.monotonic() - begun
                longest[name] = max(longest.get(name, 0), took)
                time.sleep(rest)
        except BaseException as error:
            wrong.append(f"{name}, step {n}: {error!r}")
        did[name] = n

    def tasks(n):
        while len(waiting) < flight:
            number = n * 1000 + len(waiting)
            waiting.append((number, double.remote(number)))
        for _ in range(20):
            number, ref = waiting.popleft()
            assert ray.get(ref, timeout=60) == 2 * number

    def calls(n):
        assert ray.get(counters[n % count].add.remote(), timeout=60) == 2 + n // count

    def generator(n):
        assert ray.get(next(stream), timeout=60) == n + 1

    def exclusive(n):
        pids.add(ray.get(alone.act.remote(), timeout=90))

    def actors(n):
        made = Counter.remote()
        assert ray.get(made.add.remote(), timeout=120) == 1

    def names(n):
        made = Counter.options(name=f"name {n}").remote()
        found = ray.get_actor(f"name {n}")
        assert found == made and ray.get_actor("named") == named
        assert ray.get(found.add.remote(), timeout=120) == 1
        ray.kill(made)
        time.sleep(0.2)

    threads = [threading.Thread(target=works, args=(f,)) for f in (tasks, calls, generator, exclusive, actors, names)]
    for t in threads:
        t.start()
    while "tasks" not in longest:
        time.sleep(0.01)
    print("works", flush=True)
    for line in sys.stdin:
        before = dict(longest)
        longest.clear()  # what follows is measured on its own
        print(json.dumps(before), flush=True)
    over.set()
    for t in threads:
        t.join()
    print(json.dumps({"wrong": wrong, "did": did, "longest": longest, "exclusive": len(pids)}), flush=True)
    sys.exit(bool(wrong))
"""
)
