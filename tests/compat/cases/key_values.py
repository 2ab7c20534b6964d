"""The cluster's key-value pairs, as libraries use them."""

from __future__ import annotations

import importlib
from typing import Any

from casebook import case, own_session


def pairs(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.experimental.internal_kv")


@case
def put_get_and_delete(ray: Any) -> None:
    kv = pairs(ray)
    print(kv._internal_kv_get("hue"), kv._internal_kv_exists("hue"), kv._internal_kv_del("hue"))
    print(kv._internal_kv_put("hue", "dark"), kv._internal_kv_put("hue", b"light"), kv._internal_kv_get(b"hue"))
    print(kv._internal_kv_put("hue", "pale", overwrite=False), kv._internal_kv_get("hue"))
    print(kv._internal_kv_put("new", "one", overwrite=False), kv._internal_kv_get("new"))
    print(kv._internal_kv_exists("hue"), kv._internal_kv_del("hue"), kv._internal_kv_exists("hue"))
    print(kv._internal_kv_put("", "nothing"), kv._internal_kv_get(""), kv._internal_kv_put("empty", ""))
    print(kv._internal_kv_get("empty"), kv._internal_kv_exists("empty"))


@case
def keys_by_prefix(ray: Any) -> None:
    kv = pairs(ray)
    for key in ("tree/a", "tree/b", "trunk"):
        kv._internal_kv_put(key, "1")
    print(sorted(kv._internal_kv_list("tr")), sorted(kv._internal_kv_list(b"tree/")), kv._internal_kv_list("x/"))
    print(kv._internal_kv_del("tree/"), kv._internal_kv_del("tree/", del_by_prefix=True), kv._internal_kv_list("tree"))


@case
def namespaces_are_apart(ray: Any) -> None:
    kv = pairs(ray)
    kv._internal_kv_put("key", "of none")
    kv._internal_kv_put("key", "of a", namespace="a")
    kv._internal_kv_put("key", "of b", namespace=b"b")
    print([kv._internal_kv_get("key", namespace=name) for name in (None, "a", b"a", "b", "c")])
    print(kv._internal_kv_list("k", namespace="a"), kv._internal_kv_del("", del_by_prefix=True, namespace="a"))
    print([kv._internal_kv_get("key", namespace=name) for name in (None, "a", "b")])


@case
def tasks_share_the_pairs(ray: Any) -> None:
    name = f"{ray.__name__}.experimental.internal_kv"

    @ray.remote
    def replace() -> bytes | None:
        kv = importlib.import_module(name)
        before: bytes | None = kv._internal_kv_get("shared")
        kv._internal_kv_put("shared", "x" * 200_000)
        return before

    kv = pairs(ray)
    kv._internal_kv_put("shared", "of the driver")
    print(ray.get(replace.remote()), len(kv._internal_kv_get("shared")))


@own_session
def pairs_end_with_the_session(ray: Any) -> None:
    kv = pairs(ray)
    print(kv._internal_kv_initialized())
    for _ in range(2):
        ray.init(num_cpus=1, log_to_driver=False)
        print(kv._internal_kv_initialized(), kv._internal_kv_put("key", "value"))
        ray.shutdown()
        kv._internal_kv_reset()
