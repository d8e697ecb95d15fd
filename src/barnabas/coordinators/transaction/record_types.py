"""The record types of ``__transaction_state``."""

from __future__ import annotations

from barnabas.coordinators.record import RecordTypes
from barnabas.wire.coordinator_records.transaction_log import TransactionLogKey, TransactionLogValue

TRANSACTION_RECORD_TYPES: RecordTypes = {0: (TransactionLogKey, TransactionLogValue)}
