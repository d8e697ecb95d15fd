"""Delegation tokens."""

from __future__ import annotations

from barnabas.config.declare import LONG, PASSWORD, ConfigKey, at_least

KEYS = (
    ConfigKey(
        "delegation.token.secret.key",
        PASSWORD,
        None,
        "The secret that signs tokens, the same on every node; unset turns tokens off.",
    ),
    ConfigKey(
        "delegation.token.max.lifetime.ms",
        LONG,
        604_800_000,
        "The age beyond which a token cannot be renewed.",
        valid=at_least(1),
    ),
    ConfigKey(
        "delegation.token.expiry.time.ms",
        LONG,
        86_400_000,
        "How long a token lives unless it is renewed.",
        valid=at_least(1),
    ),
    ConfigKey(
        "delegation.token.expiry.check.interval.ms",
        LONG,
        3_600_000,
        "How often expired tokens are removed.",
        valid=at_least(1),
    ),
)
