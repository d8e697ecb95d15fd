"""Asks for the verdict about a batch of a topic whose records need schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.api.broker import Broker
from barnabas.config.schema_validation import REGISTRY_URL
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.records.schema_rules import SchemaRules
from barnabas.records.validation import Refused
from barnabas.replication.partition import Partition

if TYPE_CHECKING:
    from barnabas.schema_validation.lanes import Verdict

_NO_REGISTRY = Refused(ErrorCode.INVALID_CONFIG, f"the topic requires schemas, but this broker has no {REGISTRY_URL}")


def validate_schemas(
    broker: Broker, caller: Caller, partition: Partition, rules: SchemaRules, records: memoryview | None
) -> Verdict | Promise[Verdict]:
    """None lets the batch through to the append, which may refuse it for another reason."""
    if not partition.leads:
        return None
    validation = broker.schema_validation
    if validation is not None and not isinstance(validation, str):
        return validation.check(partition, rules, records, caller.connection)
    # A retry cannot succeed before an operator has changed this broker, so the error is final.
    return _NO_REGISTRY if validation is None else Refused(ErrorCode.INVALID_CONFIG, validation)


def has_valid_schemas(broker: Broker, partition: Partition, rules: SchemaRules, records: memoryview | None) -> bool:
    """Whether the batch may be appended at once; otherwise the handler validates it."""
    validation = broker.schema_validation
    if validation is None or isinstance(validation, str) or records is None:
        return False
    return validation.passes(partition, rules, records)
