"""A day of the depots, and the readers that saw it.

1. North and South scan parcels and send the first version.
2. South gets scales and sends the second version, which adds a field with a default. North goes on.
3. West would send the third version. The registry refuses its schema and names the difference.
4. East sends bytes without a schema. The broker refuses them.
5. A reader of the first version and one of the second read every scan.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import DeserializingConsumer, KafkaException, Producer, TopicPartition

from barnabas.registry_client import RegistryRefused
from barnabas.schemas import AvroDeserializer
from examples.parcels import first, second, third
from examples.parcels.depots import MORNING, PATIENCE_SECONDS, TOPIC, Depot, Shift, first_scans, second_scans
from examples.parcels.town import Town

SCANS = 200
SUBJECT = f"{TOPIC}-value"


@dataclass
class Day:
    sent: Counter[str] = field(default_factory=Counter)
    """Scans by depot and version."""
    versions: list[int] = field(default_factory=list)
    refused_schema: str = ""
    refused_bytes: str = ""
    read: dict[str, list[Any]] = field(default_factory=dict)
    """Scans by the version of the reader."""


def live(town: Town) -> Day:
    day = Day()
    bootstrap, registry = town.kafka.bootstrap, town.registry
    town.kafka.create_topic(TOPIC, partitions=2, config={"barnabas.value.schema.validation": "payload"})
    # New readers must read old scans, and old readers new ones.
    registry.set_compatibility("FULL", SUBJECT)
    Depot(bootstrap, registry, first.Scan).send_all(first_scans("South", SCANS))
    day.sent["South, first version"] = SCANS

    north = Shift(Depot(bootstrap, registry, first.Scan), first_scans, "North")
    north.start()
    north.await_more()
    Depot(bootstrap, registry, second.Scan).send_all(second_scans("South", SCANS))
    day.sent["South, second version"] = SCANS
    north.await_more()
    day.refused_schema = _third_version(town)
    day.refused_bytes = _without_schema(town)
    day.sent["North, first version"] = north.end()

    day.versions = registry.versions(SUBJECT)
    total = sum(day.sent.values())
    for name, type_ in (("first", first.Scan), ("second", second.Scan)):
        day.read[name] = _read(town, type_, total)
    return day


def _third_version(town: Town) -> str:
    """The sentence of the registry."""
    try:
        Depot(town.kafka.bootstrap, town.registry, third.Scan).send_all(iter([third.Scan(7, "West", MORNING)]))
    except (RegistryRefused, KafkaException) as error:
        # A client may wrap the error of its serializer.
        return str(error if isinstance(error, RegistryRefused) else error.__cause__ or error.__context__ or error)
    return "it was accepted"


def _without_schema(town: Town) -> str:
    reasons: list[str] = []
    producer = Producer({"bootstrap.servers": town.kafka.bootstrap, "log_level": 0})

    def delivered(error: Any, _: Any) -> None:
        reasons.append(str(error) if error is not None else "it was accepted")

    producer.produce(TOPIC, b'{"parcel": "East-1"}', on_delivery=delivered)
    producer.flush(PATIENCE_SECONDS)
    return reasons[0]


def _read(town: Town, type_: type[Any], count: int) -> list[Any]:
    """The first ``count`` scans, as objects of the reader's own type."""
    settings = {"bootstrap.servers": town.kafka.bootstrap, "group.id": type_.__module__, "log_level": 0}
    consumer = DeserializingConsumer({**settings, "value.deserializer": AvroDeserializer(town.registry, type_)})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(2)])
    found: list[Any] = []
    try:
        while len(found) < count:
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None, f"only {len(found)} of {count} scans were read"
            found.append(message.value())
    finally:
        consumer.close()
    return found
