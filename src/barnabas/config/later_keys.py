"""The settings that Kafka 4.3 does not have, although their names do not begin with ``barnabas.``:
those of Kafka 4.4, those of Confluent's broker, and one of ours. Comparisons with Kafka 4.3 leave
them out.
"""

from __future__ import annotations

from typing import Final

from barnabas.config.schema_validation import CONFLUENT_BROKER_KEYS, CONFLUENT_TOPIC_KEYS

DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"
DEAD_LETTER_COPIES: Final = "errors.deadletterqueue.copy.record.enable"
DEAD_LETTER_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
DEAD_LETTER_AUTO_CREATE: Final = "errors.deadletterqueue.auto.create.topics.enable"
DEAD_LETTER_GROUPS: Final = "errors.deadletterqueue.group.enable"
RETRY_BACKOFF_MS: Final = "share.retry.backoff.ms"

LATER_KEYS: Final = frozenset(
    {
        DEAD_LETTER_TOPIC,
        DEAD_LETTER_COPIES,
        DEAD_LETTER_PREFIX,
        DEAD_LETTER_AUTO_CREATE,
        DEAD_LETTER_GROUPS,
        RETRY_BACKOFF_MS,
        *CONFLUENT_BROKER_KEYS,
        *CONFLUENT_TOPIC_KEYS,
    }
)
