"""Adds the manual pages to a wheel, where `make man` has built them.

The pages are made from the commands, and importing those needs the dependencies of the package,
which an isolated build does not have. So a build without `make man` has no pages and still works.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = "build/man/man1"


class ManPages(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard" and (Path(self.root) / PAGES).is_dir():
            build_data["shared_data"][PAGES] = "share/man/man1"
