"""Counters, gauges and histograms of a program, which Prometheus reads from the node: docs/metrics.md."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any, TypeVar

from eagleray._private.session import metric_reports

__all__ = ["Counter", "Gauge", "Histogram"]

M = TypeVar("M", bound="Metric")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


class Metric:
    """What counters, gauges and histograms have in common.

    Args:
        name: Letters, digits and ``_``. Prometheus gets it with ``ray_`` before it. With another name the metric keeps
            nothing, and a warning says so.
        description: A sentence for people.
        tag_keys: The names of the tags that each value must have.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: the name is empty.
    """

    _kind = ""
    _stack = 2  # calls between a warning and the program

    def __init__(self, name: str, description: str = "", tag_keys: tuple[str, ...] | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a metric must be a string, got {type(name)}")
        if not name:
            raise ValueError("the name of a metric must not be empty")
        if not isinstance(description, str):
            raise TypeError(f"the description of metric {name} must be a string, got {type(description)}")
        if tag_keys is not None and not isinstance(tag_keys, tuple):
            raise TypeError(f"the tag_keys of metric {name} must be a tuple, got {type(tag_keys)}")
        for key in tag_keys or ():
            if not isinstance(key, str):
                raise TypeError(f"the tag_keys of metric {name} must be strings, got {type(key)}")
        self._name = name
        self._description = description
        self._tag_keys = tag_keys or ()
        self._default_tags: dict[str, str] = {}
        self._table: metric_reports.Table | None = None
        self._discarded = _NAME.fullmatch(name) is None
        if self._discarded:
            warnings.warn(
                f"metric {name!r} keeps nothing: a name has letters, digits, _ and :, and begins with no digit",
                UserWarning,
                stacklevel=self._stack,
            )
        elif ":" in name:
            warnings.warn(
                f"metric {name} is shown with _ for each colon: leave colons to Prometheus's own rules",
                FutureWarning,
                stacklevel=self._stack,
            )

    def set_default_tags(self: M, default_tags: dict[str, str]) -> M:
        """Sets the values of tags for all records that do not give them.

        Returns:
            The metric itself.

        Raises:
            ValueError: the metric has no tag of that name.
            TypeError: a value is not a string.
        """
        for key, value in default_tags.items():
            if key not in self._tag_keys:
                raise ValueError(f"metric {self._name} has no tag {key!r}: its tags are {', '.join(self._tag_keys)}")
            self._check_value(key, value)
        self._default_tags = default_tags
        return self

    def _check_value(self, key: str, value: object) -> None:
        if not isinstance(value, str):
            raise TypeError(f"the value of tag {key!r} of metric {self._name} must be a string, got {type(value)}")

    def _number(self, value: Any) -> float:
        if not isinstance(value, (int, float)):
            raise TypeError(f"a value of metric {self._name} must be int or float, got {type(value)}")
        return value

    def _record(self, value: float, tags: dict[str, str] | None) -> None:
        if self._discarded:
            return
        given = self._default_tags
        if tags:
            for key, one in tags.items():
                self._check_value(key, one)
            given = {**given, **tags}
        missing = [key for key in self._tag_keys if key not in given]
        if missing:
            raise ValueError(f"a value of metric {self._name} lacks the tags {', '.join(missing)}")
        reports = metric_reports.reports
        table = self._table
        if table is None:
            table = self._table = reports.table(self._name, self._kind, self._description, self._bounds())
        reports.record(table, tuple(sorted(given.items())) if len(given) > 1 else tuple(given.items()), value)

    def _bounds(self) -> tuple[float, ...]:
        return ()

    def __reduce__(self) -> Any:
        return _restore, (type(self), (self._name, self._description, self._tag_keys), self._default_tags)

    @property
    def info(self) -> dict[str, Any]:
        """Name, description, tag_keys and default_tags."""
        return {
            "name": self._name,
            "description": self._description,
            "tag_keys": self._tag_keys,
            "default_tags": self._default_tags,
        }


def _restore(kind: type[Metric], arguments: tuple[Any, ...], default_tags: dict[str, str]) -> Metric:
    return kind(*arguments).set_default_tags(default_tags)


class Counter(Metric):
    """A number that only grows. Prometheus sees it with ``_total`` behind its name.

    Args:
        name: See ``Metric``.
        description: A sentence for people.
        tag_keys: The names of the tags.
    """

    _kind = metric_reports.COUNTER

    def inc(self, value: float = 1.0, tags: dict[str, str] | None = None) -> None:
        """Adds to the counter.

        Args:
            value: How much, more than 0.
            tags: Values of tags, beside the default ones.

        Raises:
            ValueError: the value is not above 0, or a tag is missing.
            TypeError: the value is no number, or a tag's value no string.
        """
        number = self._number(value)
        if not 0 < number < math.inf:
            raise ValueError(f"counter {self._name} can only grow: the value must be >0, got {value}")
        self._record(number, tags)


class Gauge(Metric):
    """A number that goes up and down. It leaves when its process ends.

    Args:
        name: See ``Metric``.
        description: A sentence for people.
        tag_keys: The names of the tags.
    """

    _kind = metric_reports.GAUGE

    def set(self, value: float | None, tags: dict[str, str] | None = None) -> None:
        """Sets the gauge.

        Args:
            value: The number; None does nothing.
            tags: Values of tags, beside the default ones.

        Raises:
            ValueError: a tag is missing.
            TypeError: the value is no number, or a tag's value no string.
        """
        if value is not None:
            self._record(self._number(value), tags)


class Histogram(Metric):
    """Counts how many values fall between boundaries.

    Args:
        name: See ``Metric``.
        description: A sentence for people.
        boundaries: Numbers above 0, at most 200. A value counts for the first boundary that is not below it.
        tag_keys: The names of the tags.

    Raises:
        ValueError: there are no boundaries, or one is not above 0.
    """

    _kind = metric_reports.HISTOGRAM
    _stack = 3

    def __init__(
        self,
        name: str,
        description: str = "",
        boundaries: list[float] | None = None,
        tag_keys: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(name, description, tag_keys)
        if boundaries is None or len(boundaries) == 0:
            raise ValueError(f"histogram {name} needs boundaries, as in Histogram({name!r}, boundaries=[1.0, 2.0])")
        if len(boundaries) > 200:
            raise ValueError(f"histogram {name} has {len(boundaries)} boundaries, at most 200 are possible")
        for index, boundary in enumerate(boundaries):
            if boundary <= 0 or not math.isfinite(boundary):
                raise ValueError(f"boundary {index} of histogram {name} must be above 0, got {boundary}")
        self.boundaries: list[float] = boundaries

    def _bounds(self) -> tuple[float, ...]:
        return tuple(sorted({float(one) for one in self.boundaries}))

    def observe(self, value: float, tags: dict[str, str] | None = None) -> None:
        """Counts a value.

        Args:
            value: The number.
            tags: Values of tags, beside the default ones.

        Raises:
            ValueError: a tag is missing, or the value is not a number (NaN).
            TypeError: the value is no number, or a tag's value no string.
        """
        number = self._number(value)
        if math.isnan(number):
            raise ValueError(f"a value of histogram {self._name} is NaN, which falls between no boundaries")
        self._record(number, tags)

    def __reduce__(self) -> Any:
        arguments = (self._name, self._description, self.boundaries, self._tag_keys)
        return _restore, (type(self), arguments, self._default_tags)

    @property
    def info(self) -> dict[str, Any]:
        """As of other metrics, and boundaries."""
        return {**super().info, "boundaries": self.boundaries}
