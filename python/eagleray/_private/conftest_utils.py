"""``ray._private.conftest_utils``: a fixture of pytest that Ray's own tests import."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eagleray._private.ray_constants import RAY_OVERRIDE_DASHBOARD_URL


@pytest.fixture
def set_override_dashboard_url(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Sets the address of the dashboard that ``init`` tells: the fixture's parameter, else an address of its own."""
    url = getattr(request, "param", "https://external_dashboard_url")
    with monkeypatch.context() as patch:
        if url:
            patch.setenv(RAY_OVERRIDE_DASHBOARD_URL, url)
        yield
