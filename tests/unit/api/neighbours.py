"""A broker with other brokers: real metadata, real connections to the peers that a test starts, and
a transaction coordinator whose log is in memory.

It has no disks, which these tests do not need.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from barnabas.api.broker import Broker
from barnabas.api.produce.verification import QuestionsToCoordinators
from barnabas.devcluster.development import development_properties
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.network.peers import Peers
from barnabas.node.process import parse_settings
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.wire.metadata_records import MetadataRecord, PartitionRecord, RegisterBrokerRecord, TopicRecord
from barnabas.wire.metadata_records.register_broker import BrokerEndpoint
from tests.unit.coordinators.transaction.desk import Desk
from tests.unit.metadata.made import after, uuid

HERE, THERE, NOBODY = 1, 2, -1


class Neighbours:
    def __init__(self, port: int, *, led_by: dict[str, int]) -> None:
        """``led_by``: topics of one partition, with their leaders. The other broker listens at
        ``port``.
        """
        self.desk = Desk()
        self.peers = Peers("broker 1")
        records: list[MetadataRecord] = [registration(HERE, 1), registration(THERE, port)]
        for number, (topic, leader) in enumerate(led_by.items()):
            records += [TopicRecord(name=topic, topic_id=uuid(number)), partition(number, leader)]
        self.metadata = SimpleNamespace(image=after(records))
        settings = parse_settings(development_properties(data_dir="nowhere"))
        self.others = OtherBrokers(self.metadata, self.peers, settings)
        parts: dict[str, Any] = {
            "node_id": HERE,
            "settings": settings,
            "loop": asyncio.get_running_loop(),
            "metadata": self.metadata,
            "transactions": self.desk.coordinator,
            "others": self.others,
            "questions_to_coordinators": QuestionsToCoordinators(),
            "replicas": SimpleNamespace(get=lambda topic, index: None),
            "groups": SimpleNamespace(topic="__consumer_offsets"),
        }
        self.broker = cast(Broker, SimpleNamespace(**parts))

    @property
    def image(self) -> MetadataImage:
        image: MetadataImage = self.metadata.image
        return image

    def changed(self, *records: MetadataRecord) -> None:
        self.metadata.image = after(records, self.image)


def registration(broker_id: int, port: int, *, fenced: bool = False, listener: str = "PLAINTEXT", **more: Any) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=uuid(100 + broker_id),
        broker_epoch=broker_id,
        end_points=[BrokerEndpoint(name=listener, host="127.0.0.1", port=port, security_protocol=0)],
        features=[],
        fenced=fenced,
        **more,
    )


def partition(topic: int, leader: int, **more: Any) -> PartitionRecord:
    values: dict[str, Any] = {
        "partition_id": 0,
        "topic_id": uuid(topic),
        "replicas": [HERE, THERE],
        "isr": [HERE, THERE],
        "removing_replicas": [],
        "adding_replicas": [],
        "leader": leader,
        "leader_epoch": 0,
        "partition_epoch": 0,
    }
    return PartitionRecord(**(values | more))
