"""Adds two things to a wheel that may be missing: the manual pages and the compiled record scanner.

The pages are made from the commands, and importing those needs the dependencies of the package,
which an isolated build does not have. So a build without `make man` has no pages and still works.

A wheel is pure Python, for every machine, unless BARNABAS_COMPILED is in the environment: with 1 the
wheel has the compiled scanner, with auto it has it where it can be compiled here.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = "build/man/man1"
COMPILED_VARIABLE = "BARNABAS_COMPILED"


class OptionalParts(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":
            return
        if (Path(self.root) / PAGES).is_dir():
            build_data["shared_data"][PAGES] = "share/man/man1"
        wanted = os.environ.get(COMPILED_VARIABLE, "")
        if wanted not in ("", "0"):
            self._compile(build_data, insist=wanted != "auto")

    def _compile(self, build_data: dict[str, Any], *, insist: bool) -> None:
        scanner = runpy.run_path(str(Path(self.root) / "native" / "build.py"))
        target = Path(self.root) / "build" / scanner["FILE_NAME"]
        try:
            scanner["build"](target)
        except scanner["CannotCompile"] as reason:
            if insist:
                raise
            self.app.display_warning(f"The wheel is pure Python. {reason}")
            return
        build_data["force_include"][str(target)] = f"{scanner['PACKAGE']}/{scanner['FILE_NAME']}"
        build_data["pure_python"] = False
        build_data["tag"] = scanner["wheel_tag"]()
