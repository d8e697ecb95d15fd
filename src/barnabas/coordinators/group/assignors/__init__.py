"""Assignors by the names that ``group.consumer.assignors`` and members call them."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinators.group.assignors.assignor import Assignor
from barnabas.coordinators.group.assignors.range_assignor import assign_range
from barnabas.coordinators.group.assignors.uniform_assignor import assign_uniform

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
