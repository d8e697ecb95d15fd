"""Records of the metadata log: what they are by key, and the frame each is written in.

A value is ``uvarint frame version = 1``, ``uvarint api key``, ``uvarint version``, then the message; there is no key. Kafka writes frame
version 1 and refuses 0, whatever its documentation says.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from barnabas.model.buffers import Buffer
from barnabas.wire.compiler import DECODE_ERRORS, decoder, encoder
from barnabas.wire.declare import declaration_of
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
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.varint import read_uvarint, write_uvarint

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
    "FRAME_VERSION",
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

FRAME_VERSION = 1

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

RECORDS: dict[int, type[Any]] = {}
for _record in MetadataRecord.__args__:
    _key = declaration_of(_record).key
    assert _key is not None
    RECORDS[_key] = _record


def encode_metadata_record(record: MetadataRecord) -> bytes:
    """In the newest version, which metadata.version 4.3 allows for every record."""
    declaration = declaration_of(type(record))
    assert declaration.key is not None
    out = bytearray((FRAME_VERSION,))
    write_uvarint(out, declaration.key)
    version = declaration.versions.highest
    write_uvarint(out, version)
    encoder(type(record), version)(record, out)
    return bytes(out)


def decode_metadata_record(value: Buffer) -> MetadataRecord:
    try:
        frame_version, position = read_uvarint(value, 0)
        key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
        if frame_version != FRAME_VERSION:
            raise MalformedMessage(f"frame version {frame_version} is not {FRAME_VERSION}")
        if key not in RECORDS:
            raise MalformedMessage(f"record type {key} is unknown")
        record, end = decoder(RECORDS[key], version)(value, position)
    except DECODE_ERRORS as wrong:
        raise MalformedMessage(f"metadata record cannot be read: {wrong}") from wrong
    if end != len(value):
        raise MalformedMessage(f"{len(value) - end} bytes follow a {type(record).__name__}")
    made: MetadataRecord = record
    return made
