"""A scan of the depots that got scales. Records of the others have no weight."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Scan:
    parcel: str
    depot: str
    at: datetime
    weight_grams: int | None = None
