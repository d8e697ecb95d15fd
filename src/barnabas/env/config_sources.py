"""The files and variables that configuration providers read (:mod:`barnabas.config.providers`)."""

from __future__ import annotations

import os
from pathlib import Path


class SystemSources:
    def text(self, path: str) -> str:
        return Path(path).read_text(encoding="utf-8")

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)
