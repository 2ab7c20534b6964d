"""Helpers for tests of programs: waiting for conditions, actors that hold others up, drivers of their own, metrics."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eagleray._private.session.decorator import remote

__all__ = [
    "FakeTimer",
    "MetricSamplePattern",
    "PrometheusTimeseries",
    "Semaphore",
    "SignalActor",
    "async_wait_for_condition",
    "fetch_prometheus",
    "fetch_prometheus_metric_timeseries",
    "fetch_prometheus_metrics",
    "fetch_prometheus_timeseries",
    "fetch_raw_prometheus",
    "is_named_tuple",
    "run_string_as_driver",
    "wait_for_condition",
]

DEFAULT_DRIVER_TIMEOUT_SECONDS = 300.0
_NOT_MET = "The condition wasn't met before the timeout expired."


@remote(num_cpus=0)
class SignalActor:
    """An actor that callers wait at until somebody sends a signal."""

    def __init__(self) -> None:
        self._signal = asyncio.Event()
        self._waiting = 0

    def send(self, clear: bool = False) -> None:
        """Lets everybody go on who waits.

        Args:
            clear: Whether those who come later wait for the next signal.
        """
        self._signal.set()
        if clear:
            self._signal.clear()

    async def wait(self, should_wait: bool = True) -> None:
        """Returns when the signal was sent; at once if ``should_wait`` is False."""
        if not should_wait:
            return
        self._waiting += 1
        try:
            await self._signal.wait()
        finally:
            self._waiting -= 1

    async def cur_num_waiters(self) -> int:
        """Returns how many callers wait."""
        return self._waiting


@remote(num_cpus=0)
class Semaphore:
    """An actor that lets only so many callers in at a time."""

    def __init__(self, value: int = 1) -> None:
        self._places = asyncio.Semaphore(value)

    async def acquire(self) -> None:
        """Takes a place; waits until there is one."""
        await self._places.acquire()

    async def release(self) -> None:
        """Gives a place back."""
        self._places.release()

    async def locked(self) -> bool:
        """Returns whether all places are taken."""
        return self._places.locked()


def wait_for_condition(
    condition_predictor: Callable[..., Any],
    timeout: float = 10,
    retry_interval_ms: float = 100,
    raise_exceptions: bool = False,
    **kwargs: Any,
) -> None:
    """Calls a function until its answer is true.

    Args:
        condition_predictor: The function.
        timeout: For how many seconds.
        retry_interval_ms: The pause between two calls, in milliseconds.
        raise_exceptions: Whether an exception of the function ends the waiting; else it counts as no.
        **kwargs: What the function is called with.

    Raises:
        RuntimeError: the answer was never true. The text has the last exception.
    """
    last: Exception | None = None
    end = time.monotonic() + timeout
    while time.monotonic() <= end:
        try:
            if condition_predictor(**kwargs):
                return
        except Exception as error:
            if raise_exceptions:
                raise
            last = error
        time.sleep(retry_interval_ms / 1000)
    raise _not_met(last)


async def async_wait_for_condition(
    condition_predictor: Callable[..., Awaitable[Any]] | Callable[..., Any],
    timeout: float = 10,
    retry_interval_ms: float = 100,
    **kwargs: Any,
) -> None:
    """Calls a function, or awaits a coroutine function, until its answer is true.

    Args:
        condition_predictor: The function.
        timeout: For how many seconds.
        retry_interval_ms: The pause between two calls, in milliseconds.
        **kwargs: What the function is called with.

    Raises:
        RuntimeError: the answer was never true. The text has the last exception.
    """
    last: Exception | None = None
    end = time.monotonic() + timeout
    while time.monotonic() <= end:
        try:
            answer = condition_predictor(**kwargs)
            if await answer if inspect.isawaitable(answer) else answer:
                return
        except Exception as error:
            last = error
        await asyncio.sleep(retry_interval_ms / 1000)
    raise _not_met(last)


def _not_met(last: Exception | None) -> RuntimeError:
    if last is None:
        return RuntimeError(_NOT_MET)
    import traceback

    said = "".join(traceback.format_exception(last))
    return RuntimeError(f"{_NOT_MET} Last exception: {said}")


def run_string_as_driver(
    driver_script: str,
    env: Mapping[str, str] | None = None,
    encode: str = "utf-8",
    timeout: float | None = DEFAULT_DRIVER_TIMEOUT_SECONDS,
) -> str:
    """Runs a program of its own, and returns what it wrote to standard output and standard error.

    Args:
        driver_script: The source.
        env: All variables of its environment; None: those of this process.
        encode: The encoding of the source.
        timeout: After how many seconds it is killed; None: never.

    Raises:
        subprocess.CalledProcessError: it ended with another status than 0. What it wrote is printed, too.
        subprocess.TimeoutExpired: it was killed.
    """
    with subprocess.Popen(
        [sys.executable, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=None if env is None else dict(env),
    ) as driver:
        try:
            written = driver.communicate(driver_script.encode(encode), timeout)[0].decode(errors="replace")
        except BaseException:
            driver.kill()
            raise
    if driver.returncode:
        print(written)
        raise subprocess.CalledProcessError(driver.returncode, driver.args, written, driver_script)
    return written


class FakeTimer:
    """A clock that goes on only when it is told to.

    Args:
        start_time: What it shows first; now if it is None.
    """

    def __init__(self, start_time: float | None = None) -> None:
        self.reset(start_time)

    def reset(self, start_time: float | None = None) -> None:
        """Sets the clock."""
        self._now = time.time() if start_time is None else start_time

    def time(self) -> float:
        """Returns what the clock shows."""
        return self._now

    def advance(self, by: float) -> None:
        """Sets the clock forward."""
        self._now += by

    def realistic_sleep(self, amt: float) -> None:
        """Sets the clock forward by a little more than that."""
        self._now += amt + 0.001


def is_named_tuple(cls: type) -> bool:
    """Returns whether a class was made by ``namedtuple`` or ``NamedTuple``."""
    names = getattr(cls, "_fields", None)
    return tuple in cls.__bases__ and isinstance(names, tuple) and all(type(name) is str for name in names)


@dataclass
class MetricSamplePattern:
    """What a sample of Prometheus is compared with. None stands for any.

    Attributes:
        name: The name.
        value: The value.
        partial_label_match: Labels that it has among others.
    """

    name: str | None = None
    value: float | str | None = None
    partial_label_match: dict[str, str] | None = None

    def matches(self, sample: Any) -> bool:
        """Returns whether a sample has all of that."""
        wanted = (self.partial_label_match or {}).items()
        return (
            self.name in (None, sample.name)
            and self.value in (None, sample.value)
            and all(sample.labels.get(label) == text for label, text in wanted)
        )


@dataclass
class PrometheusTimeseries:
    """The newest samples of several addresses.

    Attributes:
        components_dict: The values of the label Component, by address.
        metric_descriptors: The metrics, by name.
        metric_samples: The newest sample of each name with its labels.
    """

    components_dict: dict[str, set[str]] = field(default_factory=dict)
    metric_descriptors: dict[str, Any] = field(default_factory=dict)
    metric_samples: dict[frozenset[Any], Any] = field(default_factory=dict)

    def flush(self) -> None:
        """Forgets all."""
        for one in (self.components_dict, self.metric_descriptors, self.metric_samples):
            one.clear()


def fetch_raw_prometheus(prom_addresses: Iterable[str], timeout: float | None = None) -> Iterable[tuple[str, str]]:
    """Yields each address that answers, and what it says. An address is HOST:PORT.

    Args:
        prom_addresses: The addresses.
        timeout: Seconds to wait for each; None is 30.
    """
    import urllib.error
    import urllib.request

    for address in prom_addresses:
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=timeout or 30.0) as answer:
                yield address, answer.read(64 << 20).decode(errors="replace")
        except (OSError, urllib.error.URLError):
            continue


def fetch_prometheus_timeseries(
    prom_addresses: Iterable[str], result: PrometheusTimeseries, timeout: float | None = None
) -> PrometheusTimeseries:
    """Adds the samples of several addresses to a collection, and returns it. It needs the package prometheus_client.

    Args:
        prom_addresses: Addresses as HOST:PORT.
        result: The collection.
        timeout: Seconds to wait for each; None is 30.
    """
    from prometheus_client.parser import text_string_to_metric_families  # pyright: ignore[reportMissingImports]

    addresses = list(prom_addresses)
    for address in addresses:
        result.components_dict.setdefault(address, set())
    for address, text in fetch_raw_prometheus(addresses, timeout):
        for metric in text_string_to_metric_families(text):
            for sample in metric.samples:
                result.metric_descriptors[sample.name] = metric
                result.metric_samples[frozenset([("_metric_name", sample.name), *sample.labels.items()])] = sample
                if "Component" in sample.labels:
                    result.components_dict[address].add(sample.labels["Component"])
    return result


#: Ray's two names for one thing.
fetch_prometheus_metric_timeseries = fetch_prometheus_timeseries


def fetch_prometheus(
    prom_addresses: Iterable[str], timeout: float | None = None
) -> tuple[dict[str, set[str]], dict[str, Any], list[Any]]:
    """Returns the components by address, the metrics by name, and all samples of several addresses."""
    found = fetch_prometheus_timeseries(prom_addresses, PrometheusTimeseries(), timeout)
    return found.components_dict, found.metric_descriptors, list(found.metric_samples.values())


def fetch_prometheus_metrics(prom_addresses: Iterable[str]) -> dict[str, list[Any]]:
    """Returns the samples of several addresses, by name."""
    by_name: dict[str, list[Any]] = {}
    for sample in fetch_prometheus(prom_addresses)[2]:
        by_name.setdefault(sample.name, []).append(sample)
    return by_name
