"""Two programs of one cluster share its nodes, wherever the programs are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import eagleray
import pytest
from eagleray.cluster_utils import Cluster

pytestmark = pytest.mark.timeout(120)

TASK_S = 0.05
#: Takes a program that has both CPUs for itself 30 s.
MANY = 1200
FILLS = f"""
import sys, time
import eagleray as ray

ray.init(address=sys.argv[1], log_to_driver=False)
sleeps = ray.remote(lambda: time.sleep({TASK_S}))
refs = [sleeps.remote() for _ in range({MANY})]
ray.wait(refs, num_returns=10)
print("full", flush=True)
sys.stdin.read()
print(len(ray.wait(refs, num_returns=len(refs), timeout=0)[0]), flush=True)
"""


def test_a_program_gets_its_share_of_a_node_that_another_one_fills(fresh: Any) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        cluster.add_node(num_cpus=2)
        other = subprocess.Popen(
            [sys.executable, "-c", FILLS, cluster.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdin is not None and other.stdout is not None
        try:
            assert other.stdout.readline() == "full\n"
            with eagleray.init(address=cluster.address):
                sleeps = eagleray.remote(lambda: (time.sleep(TASK_S), os.getpid())[1])
                began = time.monotonic()
                pids = eagleray.get([sleeps.remote() for _ in range(40)], timeout=60)
                took = time.monotonic() - began
            other.stdin.close()
            done = int(other.stdout.readline())
        finally:
            other.kill()
            other.wait()
        assert len(set(pids)) < 5  # it keeps its leases while it has work
        assert done < MANY, f"the other program was done after {took:.1f} s, so nothing was shared"
    finally:
        cluster.shutdown()
