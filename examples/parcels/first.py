"""A scan as the first version of the programs knows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Scan:
    parcel: str
    depot: str
    at: datetime
