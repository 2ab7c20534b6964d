"""The releases of Ray whose libraries can be installed, with the digests of their wheels."""

from __future__ import annotations

from eagleray._version import API_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: Version → Python version, as in the tags of wheels → SHA-256 of the wheel for Linux on x86-64.
WHEELS: Mapping[str, Mapping[str, str]] = {
    "2.60.0": {
        "310": "ac1589b18a12ae5bc51c3954a82c2ccefbd220d216c31a1a704375060a51399e",
        "311": "e227f6b2af8ab4626dd9a35a5860b33864325ea137383d57f854d4637ee3fea2",
        "312": "b951b40965947a63615830916be04f26440d234de1e9a29dbf2155d03fa9ad2a",
        "313": "7f7fb209a2df375f141e8d0e132e7644b8e8efe3855b70f4844fbfb14ea6672c",
    },
}
#: Version → SHA-256 over what is unpacked: each path with the SHA-256 of its file. All wheels of a version agree in it.
CONTENTS: Mapping[str, str] = {
    "2.60.0": "c5733b44096a2a39250113f8e4b59b33b7dc274182b7dd378fd279c00ab0f3bd",
}
#: The release whose API Eagle Ray has: its libraries are those that are used.
USED = API_VERSION
#: The platform whose wheels these are. Only their Python files are used, so it need not be that of this machine.
PLATFORM = "manylinux2014_x86_64"


def version_of(digest: str) -> str | None:
    """Returns the version that a wheel with this SHA-256 is of; None if it is none of those above."""
    return next((version for version, wheels in WHEELS.items() if digest in wheels.values()), None)
