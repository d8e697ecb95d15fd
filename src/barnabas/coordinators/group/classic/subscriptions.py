"""The topics that the members of a classic group subscribe to, as far as the coordinator can decode
them.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinators.group.classic.classic_member import ClassicMember
from barnabas.wire.compiler import decode
from barnabas.wire.embedded.consumer_protocol import ConsumerProtocolSubscription
from barnabas.wire.tagged_fields import MalformedMessage

_CONSUMER = "consumer"
_VERSION_BYTES = 2
# Every version begins like the first, so that the topics of unknown versions can be read too.
_VERSION_READ = 0


def subscribed_topics(protocol_type: str, protocol: str | None, members: Iterable[ClassicMember]) -> frozenset[str] | None:
    """None if the topics are unknown: another protocol type, or bytes that no consumer sends."""
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
