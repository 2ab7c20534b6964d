"""Adds the metadata of a distribution ``ray`` to the wheel, for libraries that ask which version of Ray there is.

A wheel may have one folder of metadata of its own at its top, so this one goes where further files of the library do.
"""

import shutil
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent


class Wheel(bdist_wheel):
    def write_wheelfile(self, wheelfile_base: str, *args: Any, **kwargs: Any) -> None:
        super().write_wheelfile(wheelfile_base, *args, **kwargs)
        own = Path(wheelfile_base)
        for folder in HERE.glob("ray-*.dist-info"):
            to = own.with_suffix(".data") / "purelib" / folder.name
            shutil.copytree(folder, to, dirs_exist_ok=True)
            (to / "INSTALLER").write_text("eagleray-ray-compat\n")


setup(cmdclass={"bdist_wheel": Wheel})
