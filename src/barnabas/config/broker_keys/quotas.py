"""Quotas: the windows over which rates are measured, and the throttles of replication.

The throttles are broker settings that exist only at run time: Kafka ignores them in
``server.properties``, Barnabas refuses them there.
"""

from __future__ import annotations

from barnabas.config.declare import CLASS, CLUSTER_WIDE, INT, LONG, LONG_MAX, ConfigKey, at_least, refused
from barnabas.config.effects import MEASURED_OVER_ELEVEN_SECONDS

KEYS = (
    ConfigKey(
        "client.quota.callback.class",
        CLASS,
        None,
        "The class that decides the quotas of clients.",
        effect=refused("quota callbacks are JVM classes, and ignoring one would lift its limits"),
    ),
    ConfigKey(
        "quota.window.num",
        INT,
        11,
        "How many windows the measurement of a client's rate spans.",
        valid=at_least(1),
    ),
    ConfigKey("quota.window.size.seconds", INT, 1, "How long each window of a client's rate is.", valid=at_least(1)),
    ConfigKey(
        "controller.quota.window.num",
        INT,
        11,
        "How many samples (windows) the quotas of topic changes span.",
        valid=at_least(1),
    ),
    ConfigKey(
        "controller.quota.window.size.seconds",
        INT,
        1,
        "How long each window of topic changes is.",
        valid=at_least(1),
    ),
    ConfigKey(
        "replication.quota.window.num",
        INT,
        11,
        "How many windows the measurement of throttled replication spans.",
        valid=at_least(1),
        effect=MEASURED_OVER_ELEVEN_SECONDS,
    ),
    ConfigKey(
        "replication.quota.window.size.seconds",
        INT,
        1,
        "How long each window of throttled replication is.",
        valid=at_least(1),
        effect=MEASURED_OVER_ELEVEN_SECONDS,
    ),
    ConfigKey(
        "alter.log.dirs.replication.quota.window.num",
        INT,
        11,
        "How many samples (windows) the quota of moves between log directories spans.",
        valid=at_least(1),
    ),
    ConfigKey(
        "alter.log.dirs.replication.quota.window.size.seconds",
        INT,
        1,
        "How long each window of moves between directories is.",
        valid=at_least(1),
    ),
)

DYNAMIC_ONLY_KEYS = (
    ConfigKey(
        "leader.replication.throttled.rate",
        LONG,
        LONG_MAX,
        "The most bytes a second that this broker sends to throttled replicas.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "follower.replication.throttled.rate",
        LONG,
        LONG_MAX,
        "The most bytes a second that this broker fetches for throttled replicas.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG,
        LONG_MAX,
        "The most bytes a second that moves between this broker's directories use.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
)
