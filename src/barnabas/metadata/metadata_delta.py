"""The change from one image to the next: records are replayed into the delta, and publishers read
the changes from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.metadata.acls import AclsDelta
from barnabas.metadata.cluster import ClusterDelta
from barnabas.metadata.configs import ConfigsDelta
from barnabas.metadata.delegation_tokens import DelegationTokensDelta
from barnabas.metadata.features import FeaturesDelta
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.metadata.producer_ids import ProducerIdsImage
from barnabas.metadata.quotas import QuotasDelta
from barnabas.metadata.scram import ScramDelta
from barnabas.metadata.topics import TopicsDelta
from barnabas.wire import metadata_records as records
from barnabas.wire.metadata_records import MetadataRecord


class MetadataDelta:
    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.features = FeaturesDelta(image.features)
        self.cluster = ClusterDelta(image.cluster)
        self.topics = TopicsDelta(image.topics)
        self.configs = ConfigsDelta(image.configs)
        self.quotas = QuotasDelta(image.quotas)
        self.producer_ids = image.producer_ids
        self.acls = AclsDelta(image.acls)
        self.scram = ScramDelta(image.scram)
        self.delegation_tokens = DelegationTokensDelta(image.delegation_tokens)
        # Keyed by class: one dictionary lookup for each record. A chain of isinstance would make
        # loading a big snapshot slow.
        self._replay: dict[type[Any], Callable[[Any], None]] = {
            records.AccessControlEntryRecord: self.acls.replay,
            records.BrokerRegistrationChangeRecord: self.cluster.replay_change,
            records.ClearElrRecord: self.topics.replay_clear_elr,
            records.ClientQuotaRecord: self.quotas.replay,
            records.ConfigRecord: self.configs.replay,
            records.DelegationTokenRecord: self.delegation_tokens.replay,
            records.FeatureLevelRecord: self.features.replay,
            records.FenceBrokerRecord: self.cluster.replay_fence,
            records.NoOpRecord: _nothing,
            records.PartitionChangeRecord: self.topics.replay_partition_change,
            records.PartitionRecord: self.topics.replay_partition,
            records.ProducerIdsRecord: self._replay_producer_ids,
            records.RegisterBrokerRecord: self.cluster.replay_register,
            records.RegisterControllerRecord: self.cluster.replay_register_controller,
            records.RemoveAccessControlEntryRecord: self.acls.replay_remove,
            records.RemoveDelegationTokenRecord: self.delegation_tokens.replay_remove,
            records.RemoveTopicRecord: self._replay_remove_topic,
            records.RemoveUserScramCredentialRecord: self.scram.replay_remove,
            records.TopicRecord: self.topics.replay_topic,
            records.UnfenceBrokerRecord: self.cluster.replay_unfence,
            records.UnregisterBrokerRecord: self.cluster.replay_unregister,
            records.UserScramCredentialRecord: self.scram.replay,
            records.ZkMigrationStateRecord: _nothing,
        }

    def replay(self, record: MetadataRecord) -> None:
        """Raises ``KeyError`` for the three transaction records, which the loader must have
        resolved.
        """
        self._replay[type(record)](record)

    def _replay_producer_ids(self, record: records.ProducerIdsRecord) -> None:
        self.producer_ids = ProducerIdsImage(record.next_producer_id)

    def _replay_remove_topic(self, record: records.RemoveTopicRecord) -> None:
        # Also for a topic that this delta created, which no image and so no list of deleted topics
        # has.
        self.configs.forget_topic(self.topics.replay_remove_topic(record))

    def finish(self, provenance: Provenance) -> MetadataImage:
        return MetadataImage(
            provenance=provenance,
            features=self.features.finish(),
            cluster=self.cluster.finish(),
            topics=self.topics.finish(),
            configs=self.configs.finish(),
            quotas=self.quotas.finish(),
            producer_ids=self.producer_ids,
            acls=self.acls.finish(),
            scram=self.scram.finish(),
            delegation_tokens=self.delegation_tokens.finish(),
        )


def _nothing(_: MetadataRecord) -> None:
    pass
