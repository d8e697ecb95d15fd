"""Anything that holds bytes and can be sliced without asking what it is."""

from __future__ import annotations

from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
