"""Measures how fast large objects go between the nodes of a cluster, beside a bare TLS stream over the same way.

    between_nodes.py                          two nodes on this machine, over loopback
    between_nodes.py --nodes 8 --broadcast-mib 1024
    between_nodes.py --address FOLDER         a cluster that exists, over whatever lies between its nodes
    between_nodes.py --system ray             the same with Ray, in an interpreter that has it

The program works on the first node. Each other node must have a resource n1, n2, …, which says in which order they
are used.
The last line is a JSON object. The command openssl makes the certificate of the bare stream.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import re
import socket
import ssl
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

MIB = 1 << 20
LIMIT = 600.0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=("eagleray", "ray"), default="eagleray")
    parser.add_argument("--address", help="what init(address=…) takes; without it the program starts a cluster here")
    parser.add_argument("--nodes", type=int, default=2, help="of the cluster that the program starts")
    parser.add_argument("--mib", type=int, default=100, help="the size of the object that one node reads")
    parser.add_argument(
        "--broadcast-mib", type=int, default=256, help="the size of the object that all nodes read; 0: none"
    )
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


@contextlib.contextmanager
def connected(options: argparse.Namespace) -> Iterator[Any]:
    """The module of the system, connected to a cluster."""
    ray = importlib.import_module(options.system)
    if options.address:
        ray.init(address=options.address)
        try:
            yield ray
        finally:
            ray.shutdown()
        return
    cluster = importlib.import_module(f"{options.system}.cluster_utils").Cluster()
    arena = 3 * max(options.mib, options.broadcast_mib) * MIB
    try:
        for i in range(options.nodes):
            cluster.add_node(num_cpus=1, object_store_memory=arena, resources={f"n{i}": 1000} if i else {})
        cluster.wait_for_nodes()
        ray.init(address=cluster.address)
        yield ray
    finally:
        ray.shutdown()
        cluster.shutdown()


def noise(size: int) -> Any:
    """Bytes that do not shrink when they are compressed."""
    return np.random.default_rng().integers(0, 256, size, dtype=np.uint8)


def certified() -> ssl.SSLContext:
    """The end of a TLS connection that accepts, with a certificate of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        words += ["-keyout", f"{folder}/key", "-out", f"{folder}/cert", "-days", "2", "-subj", "/CN=bench"]
        subprocess.run(words, check=True, capture_output=True)
        context.load_cert_chain(f"{folder}/cert", f"{folder}/key")
    return context


class Cluster:
    """The nodes that read."""

    def __init__(self, ray: Any) -> None:
        self.ray, self.context = ray, certified()
        rows = [row for row in ray.nodes() if row["Alive"]]
        names = {name for row in rows for name in row["Resources"] if re.fullmatch(r"n\d+", name)}
        self.readers = sorted(names, key=lambda name: int(name[1:]))
        here = ray.get_runtime_context().get_node_id()
        self.host = next(row["NodeManagerAddress"] for row in rows if row["NodeID"] == here)

    def at(self, node: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.ray.remote(num_cpus=0, resources={node: 1})(function).remote(*arguments)

    def pulled(self, size: int, nodes: list[str]) -> float:
        """Seconds until all of the nodes have an object that only this node has."""
        get = self.ray.get
        self.ray.get([self.at(node, lambda: None) for node in nodes], timeout=LIMIT)  # their workers run
        ref = self.ray.put(noise(size))

        def read(refs: list[Any], system: str) -> int:
            value = importlib.import_module(system).get(refs[0])
            return int(value.nbytes)

        begin = time.perf_counter()
        sizes = get([self.at(node, read, [ref], self.ray.__name__) for node in nodes], timeout=LIMIT)
        took = time.perf_counter() - begin
        assert sizes == [size] * len(nodes), sizes
        return took

    def streamed(self, size: int, node: str) -> float:
        """Seconds that a bare TLS stream needs for so many bytes from this process to one on the node."""
        context = self.context
        value = memoryview(noise(size))
        with socket.create_server((self.host, 0)) as listener:

            def serve() -> None:
                conn, _ = listener.accept()
                with context.wrap_socket(conn, server_side=True) as stream:
                    for _ in range(2):
                        stream.recv(1)
                        stream.sendall(value)

            thread = threading.Thread(target=serve)
            thread.start()
            took: float = self.ray.get(
                self.at(node, receive, self.host, listener.getsockname()[1], size), timeout=LIMIT
            )
            thread.join()
        return took


def receive(host: str, port: int, size: int) -> float:
    """Reads so many bytes twice, and returns how long the second time took: into memory that is there."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    into = memoryview(bytearray(size))
    took = 0.0
    with socket.create_connection((host, port)) as conn, context.wrap_socket(conn) as stream:
        for _ in range(2):
            begin = time.perf_counter()
            stream.send(b"x")
            at = 0
            while at < size:
                at += stream.recv_into(into[at:], size - at)
            took = time.perf_counter() - begin
    return took


def line(what: str, seconds: list[float], size: int) -> dict[str, Any]:
    middle = statistics.median(seconds)
    print(
        f"{what:40} {middle * 1e3:9.1f} ms  {size / middle / 1e6:8.0f} MB/s  (best {min(seconds) * 1e3:.1f} ms)",
        flush=True,
    )
    return {"what": what, "seconds": seconds, "bytes": size}


def main() -> None:
    options = parse()
    with connected(options) as ray:
        cluster = Cluster(ray)
        first = cluster.readers[0]
        size = options.mib * MIB
        pulls, streams = [], []
        for _ in range(options.rounds):  # in turns
            streams.append(cluster.streamed(size, first))
            pulls.append(cluster.pulled(size, [first]))
        rows = [line("a bare TLS stream", streams, size), line(f"{options.mib} MiB pulled", pulls, size)]
        ratio = statistics.median(streams) / statistics.median(pulls)
        result = {"system": options.system, "nodes": len(cluster.readers) + 1, "of_bare": round(ratio, 3), "rows": rows}
        if options.broadcast_mib and len(cluster.readers) > 1:
            size = options.broadcast_mib * MIB
            one, all_of_them = [], []
            for _ in range(max(options.rounds // 2, 1)):
                one.append(cluster.pulled(size, [first]))
                all_of_them.append(cluster.pulled(size, cluster.readers))
            rows.append(line(f"{options.broadcast_mib} MiB to one node", one, size))
            rows.append(line(f"{options.broadcast_mib} MiB to {len(cluster.readers)} nodes", all_of_them, size))
            result["broadcast_of_one"] = round(statistics.median(all_of_them) / statistics.median(one), 3)
        print(json.dumps(result))


if __name__ == "__main__":
    main()
