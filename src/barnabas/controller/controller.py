"""The controller: every change to the cluster is decided here, by one node at a time.

``step(request, ...)`` takes a request of the protocol and returns an :class:`Outcome`: records for the metadata log and the
response to send once they are committed. Nothing else happens. The requests are those that brokers send over the wire, also where the
broker is in the same process, so there is one way in.

The controller decides on :attr:`image`, which contains everything it has *written*, committed or not, because its next
decision must build on its last. If the node loses its office, the image is thrown away with the uncommitted records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.config.settings import BrokerSettings
from barnabas.controller.bootstrap import as_transaction
from barnabas.controller.brokers import heartbeat, register_broker, register_controller
from barnabas.controller.configs import alter_configs, incremental_alter_configs
from barnabas.controller.features import update_features
from barnabas.controller.outcome import Outcome
from barnabas.controller.producer_ids import allocate_producer_ids
from barnabas.controller.replica_directories import assign_replicas_to_directories
from barnabas.controller.topics import create_partitions, create_topics, delete_topics
from barnabas.env.entropy import Entropy
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.loader import Loader
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.ids import NodeId
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_configs import AlterConfigsRequest
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.messages.update_features import UpdateFeaturesRequest
from barnabas.wire.metadata_records import MetadataRecord


class Controller:
    def __init__(self, node_id: NodeId, cluster_id: str, settings: BrokerSettings, entropy: Entropy) -> None:
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._settings = settings
        self._entropy = entropy
        self._loader = Loader()

    @property
    def image(self) -> MetadataImage:
        return self._loader.image

    def take_office(self, image: MetadataImage, bootstrap: Sequence[MetadataRecord], *, next_offset: int) -> Sequence[MetadataRecord]:
        """Begin to lead, with everything committed so far in ``image``; the records to write first."""
        self._loader = Loader(image)
        if image.features.levels:
            return []
        records = as_transaction(bootstrap)
        self._advance(records, next_offset)
        return records

    def step(self, request: Any, *, next_offset: int, now_ms: int) -> Outcome:
        """Decide a request, as if the first of its records went to ``next_offset`` of the log."""
        outcome = self._decide(request, next_offset, now_ms)
        if outcome.records:
            self._advance(outcome.records, next_offset)
        return outcome

    def note(self, offset: int) -> None:
        """A record without meaning was written at ``offset``."""
        self._loader.load((), Provenance(offset, self.image.provenance.epoch, -1))

    def _advance(self, records: Sequence[MetadataRecord], next_offset: int) -> None:
        self._loader.load(records, Provenance(next_offset + len(records) - 1, self.image.provenance.epoch, -1))

    def _decide(self, request: Any, next_offset: int, now_ms: int) -> Outcome:
        image = self.image
        match request:
            case BrokerHeartbeatRequest():
                return heartbeat(image, request)
            case BrokerRegistrationRequest():
                return register_broker(image, request, cluster_id=self._cluster_id, next_offset=next_offset)
            case ControllerRegistrationRequest():
                return register_controller(request)
            case CreateTopicsRequest():
                return create_topics(image, self._effective(), self._entropy, request)
            case DeleteTopicsRequest():
                return delete_topics(image, self._effective(), request)
            case CreatePartitionsRequest():
                return create_partitions(image, self._entropy, request)
            case IncrementalAlterConfigsRequest():
                return incremental_alter_configs(image, self._effective(), request)
            case AlterConfigsRequest():
                return alter_configs(image, self._effective(), request)
            case UpdateFeaturesRequest():
                return update_features(image, request)
            case AllocateProducerIdsRequest():
                return allocate_producer_ids(image, request)
            case AssignReplicasToDirsRequest():
                return assign_replicas_to_directories(image, request)
            case _:
                raise AssertionError(f"the controller does not decide {type(request).__name__}")

    def _effective(self) -> EffectiveConfigs:
        return EffectiveConfigs(self._settings, self.image.configs, self._node_id)
