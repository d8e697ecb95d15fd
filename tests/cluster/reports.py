"""Lines for the end of pytest's output, one for every run: clients that ended or hung by themselves
are worth a look, also within limits."""

from __future__ import annotations

reports: list[str] = []
