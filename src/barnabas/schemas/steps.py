"""A budget for work on schemas of strangers, counted in steps and not in time.

A step is about 20 microseconds of Python: comparing one pair of types, or reading a few characters.
Counting is deterministic, so a schema is refused on every machine or on none.
"""

from __future__ import annotations

from barnabas.schemas.errors import OutOfSteps
from barnabas.schemas.limits import COMPARISONS_MAX


class Steps:
    def __init__(self, steps_max: int = COMPARISONS_MAX) -> None:
        self.max = steps_max
        self.taken = 0

    def take(self, count: int = 1) -> None:
        """Call it before the work. Raises :class:`OutOfSteps`."""
        self.taken += count
        if self.taken > self.max:
            raise OutOfSteps(f"Comparing the schemas takes more than {self.max} steps.")
