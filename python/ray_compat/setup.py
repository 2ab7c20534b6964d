"""Adds the metadata of a distribution ``ray`` to the wheel, for libraries that ask which version of Ray there is.

A wheel may have one folder of metadata of its own at its top, so this one goes where further files of the library do.
"""

import shutil
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
NOTE = """\
RECORD is a folder on purpose. The files of this `ray` belong to the distribution eagleray-ray-compat, so an installer
that wants to put another `ray` in their place must not remove them and go on. With a missing RECORD uv goes on after
a warning; with a folder pip and uv both stop before they change anything.
"""


class Wheel(bdist_wheel):
    def write_wheelfile(self, wheelfile_base: str, *args: Any, **kwargs: Any) -> None:
        super().write_wheelfile(wheelfile_base, *args, **kwargs)
        own = Path(wheelfile_base)
        for folder in HERE.glob("ray-*.dist-info"):
            # Installers read capitals as small letters, and Ray itself at the same version has another folder.
            to = own.with_suffix(".data") / "purelib" / folder.name.capitalize()
            shutil.copytree(folder, to, dirs_exist_ok=True)
            (to / "INSTALLER").write_text("eagleray-ray-compat\n")
            (to / "top_level.txt").write_text("ray\n")
            shutil.copyfile(own / "WHEEL", to / "WHEEL")  # uv calls an entry without it broken
            (to / "RECORD").mkdir(exist_ok=True)
            (to / "RECORD" / "README").write_text(NOTE)


setup(cmdclass={"bdist_wheel": Wheel})
