"""Listeners, sockets and connections.

``max.connections``, ``max.connection.creation.rate`` and ``num.network.threads`` may also be set
for one listener, as ``listener.name.<listener>.<key>``.
"""

from __future__ import annotations

from barnabas.config.declare import CLUSTER_WIDE, INT, INT_MAX, LIST, LONG, PER_BROKER, STRING, ConfigKey, at_least, list_of, no_effect
from barnabas.config.effects import ONE_EVENT_LOOP

KEYS = (
    ConfigKey(
        "listeners",
        LIST,
        ("PLAINTEXT://:9092",),
        "The addresses this node listens on, as NAME://host:port; an empty host is every interface.",
        scope=PER_BROKER,
        valid=list_of(may_be_empty=False),
    ),
    ConfigKey(
        "advertised.listeners",
        LIST,
        None,
        "The addresses that clients connect to, where they differ from listeners.",
        valid=list_of(may_be_empty=False),
    ),
    ConfigKey(
        "listener.security.protocol.map",
        STRING,
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "The security protocol of each listener name, as NAME:PROTOCOL pairs.",
        scope=PER_BROKER,
    ),
    ConfigKey(
        "socket.send.buffer.bytes",
        INT,
        102_400,
        "The send buffer of each socket (SO_SNDBUF); left to the operating system where it is -1 or not set at all.",
    ),
    ConfigKey(
        "socket.receive.buffer.bytes",
        INT,
        102_400,
        "The receive buffer of each socket (SO_RCVBUF); left to the operating system where it is -1 or not set at all.",
    ),
    ConfigKey(
        "socket.request.max.bytes",
        INT,
        104_857_600,
        "The largest request accepted; a longer one closes its connection.",
        valid=at_least(1),
    ),
    ConfigKey("socket.listen.backlog.size", INT, 50, "How many connections may wait to be accepted.", valid=at_least(1)),
    ConfigKey(
        "socket.connection.setup.timeout.ms",
        LONG,
        10_000,
        "How long this node waits for a connection to another node to open and to negotiate versions.",
    ),
    ConfigKey(
        "socket.connection.setup.timeout.max.ms",
        LONG,
        30_000,
        "The ceiling to which the wait for a connection to open may grow.",
        effect=no_effect("the wait does not grow, so that a restarted node is found at once"),
    ),
    ConfigKey(
        "max.connections.per.ip",
        INT,
        INT_MAX,
        "How many connections one IP address may hold.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        "Exceptions to max.connections.per.ip, as host:count pairs.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connections",
        INT,
        INT_MAX,
        "How many connections this node holds, or one listener when set with its prefix; the limit of open files bounds them in any case.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "max.connection.creation.rate",
        INT,
        INT_MAX,
        "How many new connections a second this node accepts, or one listener when set with its prefix.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey("connections.max.idle.ms", LONG, 600_000, "After how long without a request a connection is closed."),
    ConfigKey(
        "queued.max.requests",
        INT,
        500,
        "How many requests may wait for a thread before sockets are no longer read.",
        valid=at_least(1),
        effect=ONE_EVENT_LOOP,
    ),
    ConfigKey(
        "queued.max.request.bytes",
        LONG,
        -1,
        "How many bytes of requests may wait for a thread; -1 sets no bound.",
        effect=ONE_EVENT_LOOP,
    ),
    ConfigKey(
        "num.network.threads",
        INT,
        3,
        "How many threads read and write the sockets of each listener.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        effect=ONE_EVENT_LOOP,
    ),
)
