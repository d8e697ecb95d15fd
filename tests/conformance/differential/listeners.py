"""Requests that brokers and controllers answer alike."""

from __future__ import annotations

import pytest

BOTH_LISTENERS = pytest.mark.parametrize("to_controller", [False, True], ids=["broker", "controller"])
