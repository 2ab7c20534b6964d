"""The part of ``ray._private.external_storage`` that programs use: the texts that name a part of a file.

Eagle Ray's daemon writes objects to disk by itself. There are no storages that a program could subclass.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn
from urllib.parse import parse_qs, urlsplit


class ParsedURL(NamedTuple):
    """A part of a file.

    Attributes:
        base_url: The file.
        offset: The part's first byte.
        size: The part's length in bytes.
    """

    base_url: str
    offset: int
    size: int


def create_url_with_offset(*, url: str, offset: int, size: int) -> str:
    """Returns the text that names a part of a file."""
    return f"{url}?offset={offset}&size={size}"


def parse_url_with_offset(url_with_offset: str) -> ParsedURL:
    """Returns what ``create_url_with_offset`` was given.

    Raises:
        ValueError: the text has no offset or no size.
    """
    found = parse_qs(urlsplit(url_with_offset).query)
    try:
        offset, size = int(found["offset"][0]), int(found["size"][0])
    except KeyError as absent:
        raise ValueError(f"{url_with_offset!r} names no part of a file: it has no {absent.args[0]}") from None
    return ParsedURL(url_with_offset.partition("?")[0], offset, size)


class ExternalStorage:
    """The class of Ray's storages. None can be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__}: Eagle Ray's daemon writes objects to disk by itself. Set the folder with "
            "_system_config={'object_spilling_directory': …} or EAGLERAY_object_spilling_directory"
        )


class FileSystemStorage(ExternalStorage):
    """Ray's storage in folders. None can be made here."""


class ExternalStorageSmartOpenImpl(ExternalStorage):
    """Ray's storage through ``smart_open``. None can be made here."""


class NullStorage(ExternalStorage):
    """Ray's storage that has nothing. None can be made here."""
