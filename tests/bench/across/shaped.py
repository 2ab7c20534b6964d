"""One large object to many nodes, in network namespaces whose cables are bounded: how long one takes, and all.

Runs in the interpreter of Eagle Ray, whichever system it measures. The measured program runs in the system's own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "robust"))

from net.lab import Lab, unavailable
from net.machine import Machine

PORT = 6379
START_S = 120
PROGRAM = """
    import importlib, json, mmap, sys, time
    import numpy

    ray, address = importlib.import_module(sys.argv[1]), sys.argv[2]
    count, size = int(sys.argv[3]), int(sys.argv[4])
    ray.init(address=address, log_to_driver=False)

    def total(array):
        return int(array[::4096].sum())

    kinds = [ray.remote(num_cpus=0, resources={f"n{number}": 0.001})(total) for number in range(2, count + 2)]
    small = numpy.ones(4096, dtype=numpy.uint8)
    ray.get([kind.remote(small) for kind in kinds])  # workers are there
    found = {}
    for many in (1, count):
        value = numpy.frombuffer(numpy.random.default_rng(many).bytes(size), dtype=numpy.uint8)  # cannot be compressed
        wanted, ref = total(value), ray.put(value)
        del value
        # All nodes share this machine's memory. A virtual machine gets memory that it has not used for some seconds
        # from its host, at 2 s for a GiB where 0.4 s are enough otherwise. So the memory that the copies will take is
        # used once before.
        given = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
        mmap.mmap(-1, (many + 1) * size, flags=given).close()
        began = time.perf_counter()
        assert ray.get([kind.remote(ref) for kind in kinds[:many]], timeout=1200) == [wanted] * many
        found[str(many)] = time.perf_counter() - began
        del ref
        time.sleep(3)  # the copies go
    print("FOUND " + json.dumps(found))
    ray.shutdown()
"""


def start(
    given: argparse.Namespace, machine: Machine, store: int, number: int, head: str, token: tuple[str, str] | None
) -> tuple[str, str] | None:
    """Starts one node."""
    flags = ["--num-cpus=1", "--num-gpus=0", f"--object-store-memory={store}", json_flag({f"n{number}": 1})]
    if given.module == "eagleray":
        flags += ["--insecure"] * given.insecure
        if token is None:
            return machine.start_head(f"--port={PORT}", *flags)
        machine.join(token, *flags)
        return token
    first = ["--head", f"--port={PORT}", "--include-dashboard=false"] if number == 1 else [f"--address={head}"]
    words = [str(Path(given.python).parent / "ray"), "start", *first, f"--node-ip-address={machine.address}", *flags]
    done = subprocess.run(
        machine.words(*words),
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=START_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return None


def json_flag(resources: dict[str, float]) -> str:
    return f"--resources={json.dumps(resources)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True)
    parser.add_argument("--python", required=True, help="the interpreter that has the system")
    parser.add_argument("--nodes", type=int, default=8, help="how many get the object")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--megabits", type=int, default=1000)
    parser.add_argument("--insecure", action="store_true", help="Eagle Ray without TLS between the nodes")
    given = parser.parse_args()
    if why := unavailable():
        print(json.dumps({"absent": why}))
        return 0
    size = given.mib << 20
    with Lab(given.nodes + 1) as lab:
        machines = list(lab.machines.values())
        head, token = f"{machines[0].address}:{PORT}", None
        for number, machine in enumerate(machines, 1):
            machine.env["RAY_TMPDIR"] = str(machines[0].folder)
            lab.shape(machine.name, given.megabits)
            token = start(given, machine, size * 5 // 4, number, head, token)
        time.sleep(2)  # Ray's nodes tell each other what they have
        words = machines[0].words(
            given.python, "-c", textwrap.dedent(PROGRAM), given.module, head, str(given.nodes), str(size)
        )
        done = subprocess.run(
            words, env=machines[0].env, capture_output=True, text=True, timeout=3000, stdin=subprocess.DEVNULL
        )
        rows = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
        print(rows[0][6:] if rows else json.dumps({"error": (done.stdout + done.stderr)[-2000:]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
