"""Commands and programs that read the record which a page shows. Pure.

Credentials are not in them: a page may be copied into a chat.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snippet:
    title: str
    text: str


def snippets(bootstrap: str, topic: str, partition: int, offset: int) -> list[Snippet]:
    place = shlex.quote(bootstrap)
    name = shlex.quote(topic)
    program = (
        "from confluent_kafka import Consumer, TopicPartition\n\n"
        f'consumer = Consumer({{"bootstrap.servers": {bootstrap!r}, "group.id": "look"}})\n'
        f"consumer.assign([TopicPartition({topic!r}, {partition}, {offset})])\n"
        "record = consumer.poll(10)\n"
        "print(record.key(), record.value(), record.headers())\n"
    )
    return [
        Snippet("barnabas", f"barnabas consume {name} -b {place} --partition {partition} --offset {offset} --max 1 --json"),
        Snippet("kcat", f"kcat -b {place} -C -t {name} -p {partition} -o {offset} -c 1 -J"),
        Snippet("Python", program),
    ]
