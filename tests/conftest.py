"""What hypothesis makes up is the same every time, and how long a busy machine takes for it says nothing.

Settings of a test of its own take over what they do not say from here.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
