"""Tools that make runtime environments: what they were told and what they write, without passwords."""

from __future__ import annotations

import sys

import pytest
from eagleray._private.environments import tools

URLS = (
    "https://name:SECRET@host/simple",
    "git+https://SECRET@host/x.git",
    "https://name:SECRET@more@host:81",
    "ssh://:SECRET@host",
)


@pytest.mark.parametrize("url", URLS)
def test_neither_errors_nor_logs_have_passwords(url: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    tell = "import sys; print('looking at', sys.argv[1]); sys.stdout.buffer.write(b'\\xff\\n'); sys.exit(3)"
    with pytest.raises(tools.MakingError, match="ended with status 3") as error:
        tools.run([sys.executable, "-c", tell, url], "/", "installing")
    logged = capfdbinary.readouterr().out
    assert "SECRET" not in str(error.value) and b"SECRET" not in logged
    assert str(error.value).count("****@host") == 2 and logged.count(b"****@host") == 2 and b"\xff\n" in logged


def test_what_is_no_password_is_shown() -> None:
    for text in ("https://host/simple", "package @ https://host/a@b.whl", "a@b.example", "https://host?to=a@b"):
        assert tools.public(text) == text
