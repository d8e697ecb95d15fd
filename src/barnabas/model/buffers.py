"""Any object that holds bytes and can be sliced, whatever its type."""

from __future__ import annotations

from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
