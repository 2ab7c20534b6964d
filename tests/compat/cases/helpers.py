"""Small helpers of ``util``: marks of APIs, what is logged once, addresses, named actors, what cannot be sent."""

from __future__ import annotations

import importlib
import io
import threading
import warnings
from typing import Any

from casebook import attempt, case


def module(ray: Any, name: str) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.{name}")


@case
def logged_once(ray: Any) -> None:
    debug = module(ray, "debug")
    print([ray.util.log_once(key) for key in ("a", "b", "a")], ray.util.log_once is debug.log_once)
    debug.reset_log_once("a")
    print([debug.log_once(key) for key in ("a", "b", "a")])
    debug.reset_log_once()
    print([debug.log_once(key) for key in ("a", "b", "a")])


@case
def marks(ray: Any) -> None:
    found = module(ray, "annotations")

    @found.PublicAPI
    def plain(x: int) -> int:
        """Adds one."""
        return x + 1

    @found.PublicAPI(stability="alpha")
    class Young:
        """A class."""

    @found.DeveloperAPI
    class Inner: ...

    @found.Deprecated(message="use plain()", warning=True)
    def old(x: int) -> int:
        return x + 2

    @found.Deprecated(warning=True)
    class Former:
        def __init__(self, x: int) -> None:
            self.x = x

    @found.Deprecated
    def older() -> int:
        return 3

    print(plain(1), plain.__doc__, Young().__class__.__name__, "alpha" in (Young.__doc__ or ""), Inner.__name__)
    print([one._annotated_type.value for one in (plain, Young, Inner, older)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print(old(1), Former(4).x, older(), old.__name__)
    print([one.category.__name__ for one in caught], "use plain()" in str(caught[0].message))
    attempt("stability", lambda: found.PublicAPI(stability="old")(plain))
    attempt("unknown", lambda: found.Deprecated(reason="none"))


@case
def the_address_of_this_node(ray: Any) -> None:
    print(ray.util.get_node_ip_address() == ray.nodes()[0]["NodeManagerAddress"])

    @ray.remote
    def there() -> str:
        return ray.util.get_node_ip_address()

    print(ray.get(there.remote()) == ray.util.get_node_ip_address())


@case
def named_actors(ray: Any) -> None:
    class Named: ...

    first = ray.remote(Named).options(name="one", num_cpus=0).remote()
    second = ray.remote(Named).options(name="two", namespace="other", num_cpus=0).remote()
    ray.get([first.__ray_ready__.remote(), second.__ray_ready__.remote()])
    print("one" in ray.util.list_named_actors(), "two" in ray.util.list_named_actors())
    every = ray.util.list_named_actors(all_namespaces=True)
    print({"name": "one", "namespace": "compat"} in every, {"name": "two", "namespace": "other"} in every)


@case
def what_cannot_be_sent(ray: Any) -> None:
    lock = threading.Lock()

    def holds() -> Any:
        return lock

    out = io.StringIO()
    good, failures = ray.util.inspect_serializability(holds, print_file=out)
    print(good, [(failure.obj is lock, "lock" in failure.path[-1]) for failure in failures], len(out.getvalue()) > 0)
    print(ray.util.inspect_serializability([1, 2], print_file=out))
    print(module(ray, "check_serialize").inspect_serializability is ray.util.inspect_serializability)
    print(module(ray, "serialization").register_serializer is ray.util.register_serializer)


@case
def constants_of_accelerators(ray: Any) -> None:
    found = module(ray, "accelerators")
    names = """
        AMD_INSTINCT_MI100 AMD_INSTINCT_MI210 AMD_INSTINCT_MI250 AMD_INSTINCT_MI250x AMD_INSTINCT_MI300x APPLE_M1
        APPLE_M1_MAX APPLE_M1_PRO APPLE_M1_ULTRA APPLE_M2 APPLE_M3 APPLE_SILICON AWS_NEURON_CORE GOOGLE_TPU_V2
        GOOGLE_TPU_V3 GOOGLE_TPU_V4 GOOGLE_TPU_V5LITEPOD GOOGLE_TPU_V5P GOOGLE_TPU_V6E GOOGLE_TPU_V7X INTEL_GAUDI
        INTEL_MAX_1100 INTEL_MAX_1550 METAX_C500 METAX_C550 MOBILINT_ARIES MOBILINT_REGULUS NVIDIA_A100
        NVIDIA_H100 NVIDIA_L4 NVIDIA_TESLA_A10G NVIDIA_TESLA_K80 NVIDIA_TESLA_P100 NVIDIA_TESLA_P4
        NVIDIA_TESLA_T4 NVIDIA_TESLA_V100
    """
    print([(name, getattr(found, name)) for name in names.split()])


@case
def the_id_of_a_machine(ray: Any) -> None:
    import os

    before = os.environ.pop("RAY_CLOUD_INSTANCE_ID", None)
    print(repr(ray.util.get_node_instance_id()))
    os.environ["RAY_CLOUD_INSTANCE_ID"] = "i-5"
    print(repr(ray.util.get_node_instance_id()))
    os.environ.pop("RAY_CLOUD_INSTANCE_ID")
    if before is not None:
        os.environ["RAY_CLOUD_INSTANCE_ID"] = before
