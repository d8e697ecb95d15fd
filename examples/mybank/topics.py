"""The bank's topics, as its pipelines name them."""

from __future__ import annotations

TRANSACTIONS, THRESHOLDS, ALERTS = "bank.transactions", "bank.thresholds", "bank.alerts"
PARTITIONS = 3
