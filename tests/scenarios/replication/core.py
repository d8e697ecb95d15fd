"""The cores that the scenarios drive, imported in this one place."""

from __future__ import annotations

from barnabas.controller.core import bootstrap, controller, features
from barnabas.replication import cluster_view, follower_fetch, isr, partition, reads, topic_counters

__all__ = [
    "bootstrap",
    "cluster_view",
    "controller",
    "features",
    "follower_fetch",
    "isr",
    "partition",
    "reads",
    "topic_counters",
]
