"""Records of the metadata log, one module per record.

:data:`RECORDS` finds a record class by its key, and :data:`MetadataRecord` is the union of all.
:mod:`~barnabas.wire.framed_records` frames them. The records that every image starts from are
``register_broker``, ``topic``, ``partition`` and ``config``; ``partition_change`` and
``broker_registration_change`` update them; ``remove_*`` and ``unregister_broker`` delete.

Not here: the effect of a record on an image (``metadata``), and the controller that writes it.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from barnabas.model.buffers import Buffer
from barnabas.wire.framed_records import by_key, decode_framed, encode_framed
from barnabas.wire.metadata_records.abort_transaction import AbortTransactionRecord
from barnabas.wire.metadata_records.access_control_entry import AccessControlEntryRecord
from barnabas.wire.metadata_records.begin_transaction import BeginTransactionRecord
from barnabas.wire.metadata_records.broker_registration_change import BrokerRegistrationChangeRecord
from barnabas.wire.metadata_records.clear_elr import ClearElrRecord
from barnabas.wire.metadata_records.client_quota import ClientQuotaRecord
from barnabas.wire.metadata_records.config import ConfigRecord
from barnabas.wire.metadata_records.delegation_token import DelegationTokenRecord
from barnabas.wire.metadata_records.end_transaction import EndTransactionRecord
from barnabas.wire.metadata_records.feature_level import FeatureLevelRecord
from barnabas.wire.metadata_records.fence_broker import FenceBrokerRecord
from barnabas.wire.metadata_records.no_op import NoOpRecord
from barnabas.wire.metadata_records.partition import PartitionRecord
from barnabas.wire.metadata_records.partition_change import PartitionChangeRecord
from barnabas.wire.metadata_records.producer_ids import ProducerIdsRecord
from barnabas.wire.metadata_records.register_broker import RegisterBrokerRecord
from barnabas.wire.metadata_records.register_controller import RegisterControllerRecord
from barnabas.wire.metadata_records.remove_access_control_entry import RemoveAccessControlEntryRecord
from barnabas.wire.metadata_records.remove_delegation_token import RemoveDelegationTokenRecord
from barnabas.wire.metadata_records.remove_topic import RemoveTopicRecord
from barnabas.wire.metadata_records.remove_user_scram_credential import RemoveUserScramCredentialRecord
from barnabas.wire.metadata_records.topic import TopicRecord
from barnabas.wire.metadata_records.unfence_broker import UnfenceBrokerRecord
from barnabas.wire.metadata_records.unregister_broker import UnregisterBrokerRecord
from barnabas.wire.metadata_records.user_scram_credential import UserScramCredentialRecord
from barnabas.wire.metadata_records.zk_migration_state import ZkMigrationStateRecord

__all__ = [
    "AbortTransactionRecord",
    "AccessControlEntryRecord",
    "BeginTransactionRecord",
    "BrokerRegistrationChangeRecord",
    "ClearElrRecord",
    "ClientQuotaRecord",
    "ConfigRecord",
    "DelegationTokenRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "MetadataRecord",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "RECORDS",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveAccessControlEntryRecord",
    "RemoveDelegationTokenRecord",
    "RemoveTopicRecord",
    "RemoveUserScramCredentialRecord",
    "TopicRecord",
    "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
    "UserScramCredentialRecord",
    "ZkMigrationStateRecord",
    "decode_metadata_record",
    "encode_metadata_record",
]

MetadataRecord: TypeAlias = (
    AbortTransactionRecord
    | AccessControlEntryRecord
    | BeginTransactionRecord
    | BrokerRegistrationChangeRecord
    | ClearElrRecord
    | ClientQuotaRecord
    | ConfigRecord
    | DelegationTokenRecord
    | EndTransactionRecord
    | FeatureLevelRecord
    | FenceBrokerRecord
    | NoOpRecord
    | PartitionRecord
    | PartitionChangeRecord
    | ProducerIdsRecord
    | RegisterBrokerRecord
    | RegisterControllerRecord
    | RemoveAccessControlEntryRecord
    | RemoveDelegationTokenRecord
    | RemoveTopicRecord
    | RemoveUserScramCredentialRecord
    | TopicRecord
    | UnfenceBrokerRecord
    | UnregisterBrokerRecord
    | UserScramCredentialRecord
    | ZkMigrationStateRecord
)

RECORDS: Final = by_key(MetadataRecord.__args__)


def encode_metadata_record(record: MetadataRecord) -> bytes:
    """The record in its newest version, which metadata.version 4.3 allows for every record."""
    return encode_framed(record)


def decode_metadata_record(value: Buffer) -> MetadataRecord:
    record: MetadataRecord = decode_framed(value, RECORDS, "metadata record")
    return record
