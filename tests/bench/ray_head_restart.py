"""How long Ray's state is away when the process of its head is killed: Ray has one head, which is started again.

Run it with an interpreter that has Ray, without a cluster that runs: ``build/venv-ray/bin/python
tests/bench/ray_head_restart.py``. The state lies in Ray's RocksDB storage. Two raylets of one machine make a cluster of
two nodes. This program is a driver on the second node. It kills ``gcs_server`` with SIGKILL and starts it again at once
with the same command line, as a supervisor would; Ray itself does not start it again. It measures the time from the
kill until a put of a key by this driver is acknowledged, and until an actor with a name is made and answers.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import ray
from ray.experimental.internal_kv import _internal_kv_put


def server(folder: str) -> tuple[int, list[str]]:
    """The process of the head's state below a folder, and its command line."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            continue
        if words and words[0].endswith(b"gcs_server") and any(folder.encode() in word for word in words):
            return int(path.name), [word.decode() for word in words]
    raise RuntimeError("there is no gcs_server")


def environment(pid: int) -> dict[str, str]:
    """The environment of a process."""
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(word.decode().split("=", 1) for word in words if b"=" in word)


def share(list_: list[float], part: float) -> float:
    """The value that a part of the list does not exceed."""
    return sorted(list_)[min(len(list_) - 1, int(part * len(list_)))]


class Puts:
    """Puts keys all the time, and notes when each was acknowledged."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.failed = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            try:
                _internal_kv_put(f"bench {number % 100}", str(number), overwrite=True)
                self.ends.append(time.monotonic())
            except Exception as error:
                self.failed += 1
                print(f"  a put failed: {str(error)[:150]!r}", flush=True)
                time.sleep(0.05)

    def after(self, moment: float, limit: float = 120) -> float:
        """Waits for a put that is acknowledged a while after a moment; the longest time without one since then."""
        until = time.monotonic() + limit
        while not self.ends or self.ends[-1] < moment + 0.5:
            if time.monotonic() > until:
                raise TimeoutError(f"no put was acknowledged for {limit} s")
            time.sleep(0.01)
        ends = [end for end in list(self.ends) if end > moment - 5]
        return max(b - a for a, b in itertools.pairwise(ends) if b > moment)

    def close(self) -> None:
        self._over.set()
        self._thread.join(10)


@ray.remote(num_cpus=0)
class Named:
    def ready(self) -> int:
        return 1


def strike(folder: str, puts: Puts, number: int) -> tuple[float, float, subprocess.Popen[bytes]]:
    """Kills the head's process and starts it again. Returns how long puts and the next actor waited, in seconds."""
    pid, words = server(folder)
    env = environment(pid)
    killed = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    again = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made = Named.options(name=f"named {number}").remote()
    assert ray.get(made.ready.remote(), timeout=120) == 1
    actor = time.monotonic() - killed
    put = puts.after(killed)
    ray.kill(made)
    return put, actor, again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--port", type=int, default=6411)
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    command = str(Path(sys.executable).parent / "ray")
    env = {**os.environ, "RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": f"{folder}/state"}
    env["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = env["RAY_DISABLE_IMPORT_WARNING"] = "1"
    os.makedirs(f"{folder}/state")
    quiet = {"env": env, "stdout": subprocess.DEVNULL, "check": True}
    small = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats"]
    head = ["start", "--head", f"--port={given.port}", f"--temp-dir={folder}", "--include-dashboard=false"]
    servers: list[subprocess.Popen[bytes]] = []
    try:
        subprocess.run([command, *head, *small], **quiet)  # type: ignore[call-overload]
        subprocess.run([command, "start", f"--address=127.0.0.1:{given.port}", *small], **quiet)  # type: ignore[call-overload]
        os.environ.update(env)
        ray.init(address=f"127.0.0.1:{given.port}", log_to_driver=False, logging_level="ERROR")
        assert ray.get(Named.remote().ready.remote(), timeout=60) == 1
        puts, waited, actors = Puts(), [], []
        puts.after(time.monotonic())
        for number in range(given.kills):
            put, actor, again = strike(folder, puts, number)
            servers.append(again)
            waited.append(put)
            actors.append(actor)
            print(
                f"  kill {number + 1}: no put for {put * 1e3:.0f} ms, a named actor after {actor * 1e3:.0f} ms",
                flush=True,
            )
            time.sleep(2)
        puts.close()
        for name, list_ in (("puts", waited), ("actors", actors)):
            numbers = [f"{what} {share(list_, part) * 1e3:.0f} ms" for what, part in (("p50", 0.5), ("p99", 0.99))]
            print(f"Ray {ray.__version__}, RocksDB, {len(list_)} kills, {name}: {', '.join(numbers)}")
        print(f"{puts.failed} puts failed")
        ray.shutdown()
    finally:
        for one in servers:
            one.kill()
            one.wait()
        ends = [path for path in Path("/proc").glob("[0-9]*")]
        for path in ends:
            try:
                if folder.encode() in (path / "cmdline").read_bytes() and int(path.name) != os.getpid():
                    os.kill(int(path.name), signal.SIGKILL)
            except OSError:
                continue
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
