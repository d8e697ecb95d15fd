"""A scan as one depot would like to have it: numbers are shorter than texts. No reader of the other
versions could read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Scan:
    parcel: int
    depot: str
    at: datetime
    weight_grams: int | None = None
