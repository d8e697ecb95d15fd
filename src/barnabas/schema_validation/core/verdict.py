"""The verdict about one batch: which of its records carry no schema, the wrong one, or bytes that
their schema does not describe.

A record with a fault makes the whole batch invalid, as in Kafka: INVALID_RECORD, with the index and
the reason of every bad record. While a registry that could tell is unreachable, there is no verdict
about the records; the batch gets NOT_ENOUGH_REPLICAS, which every producer retries, or it is
accepted, as the settings say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.records.record import Record
from barnabas.records.schema_rules import Level, SchemaRules
from barnabas.records.validation import RecordError, Refused
from barnabas.schema_validation.core.knowledge import Answer, Expected, Registered, Unreachable, words_of
from barnabas.schema_validation.core.stamps import KEY_HEADER, UNSTAMPED, VALUE_HEADER, Stamp, stamp_of

# A producer learns nothing from more of them, and a batch may have a million records.
RECORD_ERRORS_MAX: Final = 100
# The reasons quote schemas and data.
_REASON_CHARACTERS_MAX: Final = 500


def expectations(topic: str, rules: SchemaRules) -> tuple[Expected, ...]:
    """The checked parts of a topic's records."""
    parts = (("key", rules.key), ("value", rules.value))
    return tuple(Expected(topic, part, of_part) for part, of_part in parts if of_part is not None)


def judge(
    records: Iterable[Record], expected: tuple[Expected, ...], known: Mapping[Stamp, Answer], *, accept_unknown: bool
) -> Refused | None:
    """``known`` has an answer for every stamp of the records."""
    errors: list[RecordError] = []
    unreachable: Unreachable | None = None
    for index, record in enumerate(records):
        reasons = []
        for each in expected:
            fault = _fault(record, each, known)
            if isinstance(fault, str):
                reasons.append(fault)
            elif fault is not None:
                unreachable = fault
        if reasons:
            errors.append(RecordError(index, _shortened("; ".join(reasons))))
            if len(errors) >= RECORD_ERRORS_MAX:
                break
    if errors:
        first = errors[0]
        return Refused(
            ErrorCode.INVALID_RECORD,
            f"one or more records have been rejected; record {first.batch_index}: {first.message}",
            tuple(errors),
        )
    return None if unreachable is None or accept_unknown else no_verdict(unreachable.reason)


def no_verdict(reason: str) -> Refused:
    """A refusal that says nothing about the records. Producers retry NOT_ENOUGH_REPLICAS."""
    return Refused(ErrorCode.NOT_ENOUGH_REPLICAS, f"the schemas of the batch cannot be validated now: {_shortened(reason)}")


def unreadable(reason: object) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, f"the batch cannot be read: {reason}")


def _fault(record: Record, expected: Expected, known: Mapping[Stamp, Answer]) -> str | Unreachable | None:
    part, header = (record.key, KEY_HEADER) if expected.part == "key" else (record.value, VALUE_HEADER)
    if part is None:
        return None
    stamp = stamp_of(part, record.headers, header)
    if stamp == UNSTAMPED:
        return f"the {expected.part} does not name a schema"
    answer = known[stamp]
    if isinstance(answer, Unreachable):
        return answer
    if not isinstance(answer, Registered):
        return f"{words_of(stamp)} of the {expected.part} is not registered"
    if not answer.fits(expected):
        return f"{words_of(stamp)} of the {expected.part} is not registered under {expected.subject_words}"
    if expected.rules.level is not Level.PAYLOAD:
        return None
    assert answer.facts is not None, "the text was asked for"
    reason = answer.facts.why_undecodable(_payload(part, record, stamp, header))
    return None if reason is None else f"the {expected.part} does not match {words_of(stamp)}: {reason}"


def _payload(part: bytes, record: Record, stamp: Stamp, header: str) -> bytes:
    """The bytes behind the stamp; where a header has the stamp, also the rest of the header."""
    for name, value in record.headers:
        if name == header:
            assert value is not None, "it has the stamp"
            return value[len(stamp) :] + part
    return part[len(stamp) :]


def _shortened(text: str) -> str:
    return text if len(text) <= _REASON_CHARACTERS_MAX else text[: _REASON_CHARACTERS_MAX - 3] + "..."
