"""Calls the functions and the actor of the Go program beside this file: python call.py PATH-OF-THE-PROGRAM."""

from __future__ import annotations

import sys

import eagleray as ray

program = sys.argv[1]
ray.init(num_cpus=2)

mean = ray.cross_language.go_function("mean", worker=program)
print("mean:", ray.get(mean.remote([1.0, 2.0, 6.0])))
try:
    ray.get(mean.remote([]))
except ray.exceptions.CrossLanguageError as error:
    print("error:", error.cause.message)  # type: ignore[attr-defined]

primes = ray.cross_language.go_function("primes", worker=program).options(num_returns="streaming")
print("primes:", [ray.get(ref) for ref in primes.remote(20)])

Stock = ray.cross_language.go_actor_class("Stock", worker=program)
stock = Stock.options(max_concurrency=4).remote({"tea": 5})
print("left:", ray.get([stock.Take.remote("tea", n) for n in (1, 2)]))
