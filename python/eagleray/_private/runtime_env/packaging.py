"""The part of ``ray._private.runtime_env.packaging`` that libraries use: reading the URI of a package."""

from __future__ import annotations

import enum
import hashlib
import os
from urllib.parse import urlparse

from eagleray.runtime_env import fields

_ARCHIVES = (".tar.gz", ".tar.bz2", ".tar.xz")


class Protocol(enum.Enum):
    """Where a package comes from: the scheme of its URI."""

    GCS = "gcs"
    CONDA = "conda"
    PIP = "pip"
    UV = "uv"
    HTTP = "http"
    HTTPS = "https"
    S3 = "s3"
    GS = "gs"
    AZURE = "azure"
    ABFSS = "abfss"
    FILE = "file"
    LOCAL = "local"

    @classmethod
    def remote_protocols(cls) -> list[Protocol]:
        """Those of storage outside the cluster."""
        return [cls(name) for name in fields.REMOTE]


def parse_uri(pkg_uri: str) -> tuple[Protocol, str]:
    """Returns where a package comes from, and the name of its file here.

    A wheel keeps its name. Any other package has the digest of its URI as its name, with the ending of the archive.

    Raises:
        ValueError: the text is a path, or has a scheme that is not known.
    """
    if fields.is_path(pkg_uri):
        raise ValueError(f"Expected URI but received path {pkg_uri}")
    uri = urlparse(pkg_uri)
    try:
        protocol = Protocol(uri.scheme)
    except ValueError:
        raise ValueError(
            f'Invalid protocol for runtime_env URI "{pkg_uri}". Supported protocols: '
            f"{', '.join(one.value for one in Protocol)}."
        ) from None
    if protocol is Protocol.LOCAL:
        return protocol, pkg_uri.partition("://")[2]
    if protocol not in Protocol.remote_protocols():
        return protocol, uri.netloc
    name = uri.netloc + uri.path
    if uri.path.endswith(".whl"):
        return protocol, uri.path.rpartition("/")[2]
    ending = next((one for one in _ARCHIVES if name.endswith(one)), os.path.splitext(name)[1])
    return protocol, f"{protocol.value}_{hashlib.sha1(pkg_uri.encode()).hexdigest()}{ending}"


def is_zip_uri(uri: str) -> bool:
    """Whether a text is the URI of a zip file."""
    return _ends_with(uri, ".zip")


def is_whl_uri(uri: str) -> bool:
    """Whether a text is the URI of a wheel."""
    return _ends_with(uri, ".whl")


def is_jar_uri(uri: str) -> bool:
    """Whether a text is the URI of an archive of Java classes."""
    return _ends_with(uri, ".jar")


def _ends_with(uri: str, ending: str) -> bool:
    try:
        return parse_uri(uri)[1].endswith(ending)
    except ValueError:
        return False
