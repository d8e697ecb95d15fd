"""The metadata of a cluster at one offset of its log. Images are immutable: a change creates a new
image.

An image can be written as records and read back as an equal image, which is a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from barnabas.metadata.acls import AclsImage
from barnabas.metadata.cluster import ClusterImage
from barnabas.metadata.configs import ConfigsImage
from barnabas.metadata.delegation_tokens import DelegationTokensImage
from barnabas.metadata.features import FeaturesImage
from barnabas.metadata.producer_ids import ProducerIdsImage
from barnabas.metadata.quotas import QuotasImage
from barnabas.metadata.scram import ScramImage
from barnabas.metadata.topics import PartitionImage, TopicsImage
from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import MetadataRecord


@dataclass(frozen=True, slots=True)
class Provenance:
    """The last record of an image: its offset, leader epoch and timestamp."""

    offset: int = -1
    epoch: int = -1
    timestamp_ms: int = -1


@dataclass(frozen=True, slots=True)
class MetadataImage:
    provenance: Provenance = field(default_factory=Provenance)
    features: FeaturesImage = field(default_factory=FeaturesImage)
    cluster: ClusterImage = field(default_factory=ClusterImage)
    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: ConfigsImage = field(default_factory=ConfigsImage)
    quotas: QuotasImage = field(default_factory=QuotasImage)
    producer_ids: ProducerIdsImage = field(default_factory=ProducerIdsImage)
    acls: AclsImage = field(default_factory=AclsImage)
    scram: ScramImage = field(default_factory=ScramImage)
    delegation_tokens: DelegationTokensImage = field(default_factory=DelegationTokensImage)

    @property
    def empty(self) -> bool:
        return self.provenance.offset < 0

    def online(self, partition: PartitionImage, broker_id: int) -> bool:
        """Whether a replica can be served: its broker is unfenced and has the directory of the
        replica online.
        """
        broker = self.cluster.brokers.get(broker_id)
        return broker is not None and not broker.fenced and broker.has_online(partition.directory_of(broker_id))

    def offline_replicas(self, partition: PartitionImage) -> list[int]:
        return [replica for replica in partition.replicas if not self.online(partition, replica)]

    def records(self) -> Iterator[MetadataRecord]:
        """All records of the image, in an order that can be replayed."""
        for subject in (
            self.features,
            self.cluster,
            self.topics,
            self.configs,
            self.quotas,
            self.producer_ids,
            self.acls,
            self.scram,
            self.delegation_tokens,
        ):
            yield from subject.records()
