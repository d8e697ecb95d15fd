"""Every operation of the console, and the navigation of a cluster.

A new group of views is a module in :mod:`barnabas.console.views` and two lines here.
"""

from __future__ import annotations

from typing import Final

from barnabas.console.views import (
    acls,
    broker_settings,
    brokers,
    clusters,
    dead_letters,
    disk_moves,
    feature_changes,
    group_changes,
    groups,
    pipelines,
    quotas,
    rates,
    reassignment,
    record_changes,
    record_streams,
    records,
    schema_changes,
    schemas,
    sessions,
    sql,
    tokens,
    topic_parts,
    topics,
    transactions,
    users,
)
from barnabas.console.web.operation import Operation, Section

OPERATIONS: Final[tuple[Operation, ...]] = (
    *sessions.OPERATIONS,
    *clusters.OPERATIONS,
    *topics.OPERATIONS,
    *topic_parts.OPERATIONS,
    *records.OPERATIONS,
    *record_streams.OPERATIONS,
    *record_changes.OPERATIONS,
    *brokers.OPERATIONS,
    *broker_settings.OPERATIONS,
    *feature_changes.OPERATIONS,
    *disk_moves.OPERATIONS,
    *schemas.OPERATIONS,
    *schema_changes.OPERATIONS,
    *groups.OPERATIONS,
    *group_changes.OPERATIONS,
    *dead_letters.OPERATIONS,
    *reassignment.OPERATIONS,
    *sql.OPERATIONS,
    *transactions.OPERATIONS,
    *acls.OPERATIONS,
    *users.OPERATIONS,
    *tokens.OPERATIONS,
    *quotas.OPERATIONS,
    *pipelines.OPERATIONS,
    *rates.OPERATIONS,
)

# In the order of the navigation.
SECTIONS: Final[tuple[Section, ...]] = (
    Section("Overview", ""),
    Section("Topics", "topics"),
    Section("Groups", "groups"),
    Section("Dead letters", "dead-letters"),
    Section("Transactions", "transactions"),
    Section("Brokers", "brokers"),
    Section("Schemas", "schemas"),
    Section("Reassignment", "reassignment"),
    Section("SQL", "sql"),
    Section("Security", "security"),
    Section("Pipelines", "pipelines"),
)
