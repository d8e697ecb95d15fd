"""The subject under which the schema of a topic's values is registered, as Confluent's serializers
name it.

============  =========================
strategy      subject
============  =========================
topic         the topic, then ``-value``
record        the full name of the record
topic_record  both, with a dash between
============  =========================
"""

from __future__ import annotations

from barnabas.pipelines.errors import CannotRun


def subject_of(topic: str, strategy: str, record: str | None) -> str:
    if strategy == "topic":
        return f"{topic}-value"
    if record is None:
        raise CannotRun(f"The strategy {strategy!r} names subjects after the record, and this schema has no name; give a 'subject'.")
    return record if strategy == "record" else f"{topic}-{record}"
