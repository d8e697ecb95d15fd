"""Dead letters with the headers that pipelines write."""

from __future__ import annotations

from confluent_kafka import Producer


def send_letters(bootstrap: str, source: str, dead: str, reasons: list[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number, reason in enumerate(reasons):
        headers = {"reason": reason, "pipeline": "payments", "topic": source, "partition": "0", "offset": str(number), "timestamp": "1000"}
        own = {"own": "1", **{f"barnabas.dead_letter.{name}": value for name, value in headers.items()}}
        producer.produce(dead, f"value-{number}", f"key-{number}", partition=0, headers=list(own.items()))
    assert producer.flush(60) == 0
