"""Hypothesis generates the same examples every time and has no deadlines, because a busy machine is
slow without being wrong.

Tests with settings of their own inherit everything else from here.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
