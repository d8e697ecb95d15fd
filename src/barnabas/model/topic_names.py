"""The rules for topic names."""

from __future__ import annotations

TOPIC_NAME_CHARACTERS_MAX = 249
CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
# Kafka does not count it among the internal topics: clients may write to it.
REMOTE_LOG_METADATA = "__remote_log_metadata"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})
_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def why_illegal(name: str) -> str | None:
    """The reason why a name is illegal, to end a sentence with, or None."""
    if not name:
        return "a topic name must not be empty"
    if name in (".", ".."):
        return f"{name!r} is not a topic name"
    if len(name) > TOPIC_NAME_CHARACTERS_MAX:
        return f"a topic name has at most {TOPIC_NAME_CHARACTERS_MAX} characters, this one has {len(name)}"
    if not _LEGAL.issuperset(name):
        return f"{name!r} has characters other than letters, digits, '.', '_' and '-'"
    return None


def collision_key(name: str) -> str:
    """Names with equal keys would be one name in metrics, where '.' becomes '_'."""
    return name.replace(".", "_")
