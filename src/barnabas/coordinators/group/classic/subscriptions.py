"""What the members of a classic group say they read. Only of consumers is it known how they say it."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinators.group.classic.classic_member import ClassicMember
from barnabas.wire.compiler import decode
from barnabas.wire.embedded.consumer_protocol import ConsumerProtocolSubscription
from barnabas.wire.tagged_fields import MalformedMessage

_CONSUMER = "consumer"
_VERSION_BYTES = 2
# Every version begins like the first, so that one that is not known yet can be read as far as topics go.
_VERSION_READ = 0


def subscribed_topics(protocol_type: str, protocol: str | None, members: Iterable[ClassicMember]) -> frozenset[str] | None:
    """None where that cannot be known: another protocol type, or bytes that are not what consumers send."""
    if protocol_type != _CONSUMER:
        return None
    topics: set[str] = set()
    for member in members:
        try:
            subscription, _ = decode(ConsumerProtocolSubscription, _VERSION_READ, member.subscription(protocol or ""), _VERSION_BYTES)
        except MalformedMessage:
            return None
        topics.update(subscription.topics)
    return frozenset(topics)
