"""The controller: every change to the cluster is decided here, by one node at a time.

``step(request, ...)`` takes a request of the protocol and returns an :class:`Outcome`: records for
the metadata log, and the response to send once they are committed. ``tick(...)`` decides what time
alone brings: it fences brokers whose sessions are over, and gives leadership back to preferred
leaders. Nothing else changes the state. The requests are those that brokers send over the wire,
also where the broker is in the same process, so there is one way in.

The controller decides on :attr:`image`, which contains everything it has *written*, committed or
not, because its next decision must build on its last. When the node stops being the active
controller, the image is thrown away with the uncommitted records, and so are the sessions of
brokers, which are in no log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.config.settings import BrokerSettings
from barnabas.controller.core.acls import create_acls, delete_acls
from barnabas.controller.core.alter_partition import alter_partition
from barnabas.controller.core.bootstrap import first_records
from barnabas.controller.core.broker_sessions import BrokerSessions
from barnabas.controller.core.brokers import register_broker, register_controller, unregister_broker
from barnabas.controller.core.chores import Chores
from barnabas.controller.core.client_quotas import alter_client_quotas
from barnabas.controller.core.configs import alter_configs, incremental_alter_configs
from barnabas.controller.core.delegation_tokens import (
    Tokens,
    create_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from barnabas.controller.core.elections import elect_leaders
from barnabas.controller.core.features import ConfiguredVoters, QuorumFeature, update_features
from barnabas.controller.core.heartbeats import fence, heartbeat
from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partitions import Partitions
from barnabas.controller.core.producer_ids import allocate_producer_ids
from barnabas.controller.core.reassignments import alter_partition_reassignments, list_partition_reassignments
from barnabas.controller.core.replica_directories import assign_replicas_to_directories
from barnabas.controller.core.scram_credentials import alter_user_scram_credentials
from barnabas.controller.core.topics import create_partitions, create_topics, delete_topics
from barnabas.env.entropy import Entropy
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.loader import Loader
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.ids import NodeId
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.security.quotas.mutation_quota import MutationQuota
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.wire.messages.alter_configs import AlterConfigsRequest
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from barnabas.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.messages.update_features import UpdateFeaturesRequest
from barnabas.wire.metadata_records import MetadataRecord


class Controller:
    """``now_ms`` is a monotonic time, because a change of the wall clock must not end sessions.
    ``wall_ms`` is the time of day, for what outlives this controller."""

    def __init__(
        self, node_id: NodeId, cluster_id: str, settings: BrokerSettings, entropy: Entropy, quorum: QuorumFeature | None = None
    ) -> None:
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._settings = settings
        self._entropy = entropy
        self._quorum = quorum or ConfiguredVoters()
        self._tokens = Tokens.of(settings)
        self._loader = Loader()
        self._effective = EffectiveConfigs(settings, self.image.configs, node_id)
        self._sessions = self._no_sessions()
        self._chores = Chores(settings, now_ms=0)

    @property
    def image(self) -> MetadataImage:
        return self._loader.image

    @property
    def session_timeout_ms(self) -> int:
        return self._settings.integer("broker.session.timeout.ms")

    def _no_sessions(self) -> BrokerSessions:
        return BrokerSessions(timeout_ms=self.session_timeout_ms)

    def activate(
        self, image: MetadataImage, bootstrap: Sequence[MetadataRecord], *, next_offset: int, now_ms: int
    ) -> Sequence[MetadataRecord]:
        """Become the active controller, with everything committed so far in ``image``. Returns the
        records to write first."""
        self._loader = Loader(image)
        self._sessions = self._no_sessions()
        self._chores = Chores(self._settings, now_ms=now_ms)
        for broker in image.cluster.brokers.values():
            if not broker.fenced:
                # Only the previous controller knew when the broker sent its last heartbeat.
                self._sessions.touch(broker.broker_id, broker.epoch, now_ms=now_ms)
        if image.features.levels:
            return []
        records = first_records(bootstrap, self._settings)
        self._advance(records, next_offset)
        return records

    def step(
        self,
        request: Any,
        *,
        next_offset: int,
        now_ms: int,
        wall_ms: int,
        principal: Principal = ANONYMOUS,
        mutations: MutationQuota | None = None,
    ) -> Outcome:
        """Decide a request of ``principal``; the first of its records gets the offset
        ``next_offset`` of the log. ``mutations`` is the quota of the client for creating and
        deleting partitions, if it has one."""
        outcome = self._decide(request, next_offset, now_ms, wall_ms, principal, mutations)
        if outcome.records:
            self._advance(outcome.records, next_offset)
            self._chores.notice(outcome.records, now_ms=now_ms)
        return outcome

    def tick(self, *, next_offset: int, now_ms: int, wall_ms: int) -> Sequence[MetadataRecord]:
        """Decide everything that is due by now. The records go into the log as one batch that
        begins at ``next_offset``."""
        records: list[MetadataRecord] = []
        for broker_id in self._sessions.expired(now_ms):
            self._sessions.end(broker_id)
            broker = self.image.cluster.brokers.get(broker_id)
            if broker is not None and not broker.fenced:
                # Fence one after the other, so that the partitions of the second do not go to the
                # first.
                self._do(fence(self._partitions(), broker), records, next_offset)
        for chore in self._chores.due(now_ms):
            decided, more = chore.run(self._partitions(), wall_ms)
            self._chores.done(chore, now_ms=now_ms, more=more)
            self._do(decided, records, next_offset)
        return records

    def broker_gone(self, broker_id: int, epoch: int, *, next_offset: int) -> Sequence[MetadataRecord]:
        """Fence a broker whose process has ended, without waiting for its session. Its next process
        registers with another epoch."""
        broker = self.image.cluster.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch or broker.fenced:
            return []
        self._sessions.end(broker_id)
        records: list[MetadataRecord] = []
        self._do(fence(self._partitions(), broker), records, next_offset)
        return records

    def _do(self, decided: Sequence[MetadataRecord], records: list[MetadataRecord], next_offset: int) -> None:
        if decided:
            self._advance(decided, next_offset + len(records))
            records.extend(decided)

    @property
    def next_deadline_ms(self) -> int:
        """When :meth:`tick` has work to do next, unless a request comes first."""
        deadline_ms = self._sessions.next_deadline_ms
        return self._chores.next_deadline_ms if deadline_ms is None else min(deadline_ms, self._chores.next_deadline_ms)

    def note(self, offset: int) -> None:
        """Account for a no-op record that was written at ``offset``."""
        self._loader.load((), Provenance(offset, self.image.provenance.epoch, -1))

    def _advance(self, records: Sequence[MetadataRecord], next_offset: int) -> None:
        self._loader.load(records, Provenance(next_offset + len(records) - 1, self.image.provenance.epoch, -1))

    def _partitions(self) -> Partitions:
        return Partitions(self.image, self._configs())

    def _configs(self) -> EffectiveConfigs:
        if self._effective.configs is not self.image.configs:
            self._effective = EffectiveConfigs(self._settings, self.image.configs, self._node_id)
        return self._effective

    def _decide(
        self, request: Any, next_offset: int, now_ms: int, wall_ms: int, principal: Principal, mutations: MutationQuota | None
    ) -> Outcome:
        image = self.image
        match request:
            case BrokerHeartbeatRequest():
                return heartbeat(self._partitions(), self._sessions, request, next_offset=next_offset, now_ms=now_ms)
            case AlterPartitionRequest():
                return alter_partition(self._partitions(), request)
            case BrokerRegistrationRequest():
                return register_broker(
                    self._partitions(), self._sessions, request, cluster_id=self._cluster_id, next_offset=next_offset, now_ms=now_ms
                )
            case UnregisterBrokerRequest():
                return unregister_broker(self._partitions(), self._sessions, request)
            case ControllerRegistrationRequest():
                return register_controller(request)
            case CreateTopicsRequest():
                return create_topics(image, self._configs(), self._entropy, request, mutations)
            case DeleteTopicsRequest():
                return delete_topics(image, self._configs(), request, mutations)
            case CreatePartitionsRequest():
                return create_partitions(image, self._entropy, request, mutations)
            case ElectLeadersRequest():
                return elect_leaders(self._partitions(), request)
            case AlterPartitionReassignmentsRequest():
                return alter_partition_reassignments(self._partitions(), request)
            case ListPartitionReassignmentsRequest():
                return list_partition_reassignments(self._partitions(), request)
            case IncrementalAlterConfigsRequest():
                return incremental_alter_configs(image, self._configs(), request)
            case AlterConfigsRequest():
                return alter_configs(image, self._configs(), request)
            case UpdateFeaturesRequest():
                return update_features(image, self._settings, self._quorum, request)
            case AlterUserScramCredentialsRequest():
                return alter_user_scram_credentials(image, request)
            case CreateAclsRequest():
                return create_acls(image, self._entropy, request)
            case DeleteAclsRequest():
                return delete_acls(image, request)
            case CreateDelegationTokenRequest():
                return create_delegation_token(image, self._tokens, self._entropy, request, requester=principal, wall_ms=wall_ms)
            case RenewDelegationTokenRequest():
                return renew_delegation_token(image, self._tokens, request, principal=principal, wall_ms=wall_ms)
            case ExpireDelegationTokenRequest():
                return expire_delegation_token(image, self._tokens, request, principal=principal, wall_ms=wall_ms)
            case AlterClientQuotasRequest():
                return alter_client_quotas(image, request)
            case AllocateProducerIdsRequest():
                return allocate_producer_ids(image, request)
            case AssignReplicasToDirsRequest():
                return assign_replicas_to_directories(self._partitions(), request)
            case _:
                raise AssertionError(f"the controller does not decide {type(request).__name__}")
