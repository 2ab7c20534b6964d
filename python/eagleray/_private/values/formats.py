"""The kinds of envelopes in which values travel: docs/hot-api.md says what each holds."""

from __future__ import annotations

from typing import Any

NONE, MSGPACK, NDARRAY, PICKLE, ERROR, BYTES, ARGS, ARGS_MSGPACK, FAULT, PICKLE_REFS, ARGS_REFS, ELSEWHERE = range(12)

#: The formats of exceptions.
ERRORS = frozenset({ERROR, FAULT, ELSEWHERE})

Buffers = tuple[Any, ...] | None
#: An envelope: the format, the metadata, the buffers.
Triple = tuple[int, bytes, Buffers]
#: The envelope of a value that is sent, with the references and handles inside it.
Encoded = tuple[int, bytes, Buffers, tuple[Any, ...] | None]

NONE_RESULT: Encoded = (NONE, b"", None, None)
