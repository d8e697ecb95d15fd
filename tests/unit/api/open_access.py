"""The access of a node without an authorizer: every caller may do everything."""

from __future__ import annotations

from barnabas.api.access import Access
from barnabas.telemetry.logs import EventLog

OPEN_ACCESS = Access(None, EventLog("ERROR"))
