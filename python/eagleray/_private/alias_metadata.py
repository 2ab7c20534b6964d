"""What ``importlib.metadata`` says about ``ray`` where ``ray`` means eagleray."""

from __future__ import annotations

from importlib.metadata import Distribution
from typing import Any

from eagleray._version import API_VERSION

_METADATA = f"""\
Metadata-Version: 2.1
Name: ray
Version: {API_VERSION}
Summary: Eagle Ray under the name ray: it offers the API of this version of Ray
"""


class RayDistribution(Distribution):
    """A distribution called ray without files, whose version is that of Ray's API."""

    def read_text(self, filename: str) -> str | None:
        return _METADATA if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"the distribution ray has no files here, and so no {path}")
