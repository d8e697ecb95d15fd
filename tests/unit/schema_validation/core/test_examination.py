"""One batch from its bytes to a verdict, or to questions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from crc32c import crc32c

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_header import read_header
from barnabas.records.compression import Codec, compress
from barnabas.records.schema_rules import Level, PartRules, SchemaRules
from barnabas.records.validation import RecordError, Refused
from barnabas.schema_validation.core.examination import Examined, Knowledge, examine, readable_header
from barnabas.schema_validation.core.knowledge import Answer, KnownSchemas, Unreachable, Unregistered
from barnabas.schema_validation.core.stamps import VALUE_HEADER, Stamp
from barnabas.schema_validation.core.verdict import RECORD_ERRORS_MAX, expectations
from tests.unit.schema_validation.made import GUID, ID_LEVEL, PAYLOAD_LEVEL, batch, record, registered, stamp, stamped

BOTH = SchemaRules(PartRules(Level.ID), PartRules(Level.PAYLOAD))
FITS = {stamp(1): registered("t-value", wrong=b"bad")}


def examined(
    made: memoryview,
    rules: SchemaRules = ID_LEVEL,
    known: Mapping[Stamp, Answer] = FITS,
    *,
    answers: Mapping[Stamp, Answer] | None = None,
    accept: bool = False,
) -> Examined:
    schemas = KnownSchemas(10)
    for each, answer in known.items():
        schemas.learn(each, answer, 0)
        for part in expectations("t", rules):
            schemas.refused(each, part, 0)
    knowledge = Knowledge(schemas, 0, 1000, 10, accept)
    return examine(made, read_header(made), expectations("t", rules), knowledge, answers or {})


def refusal(*args: object, **more: object) -> Refused:
    verdict = examined(*args, **more).verdict  # type: ignore[arg-type]
    assert verdict is not None
    return verdict


def checksummed(made: bytearray) -> memoryview:
    """With a length and a checksum that fit."""
    made[8:12] = (len(made) - 12).to_bytes(4, "big")
    made[17:21] = crc32c(bytes(made[21:])).to_bytes(4, "big")
    return memoryview(made)


@pytest.mark.parametrize("codec", list(Codec), ids=str)
@pytest.mark.parametrize("rules", [ID_LEVEL, PAYLOAD_LEVEL], ids=["id", "payload"])
def test_records_of_a_known_schema_pass(codec: Codec, rules: SchemaRules) -> None:
    assert examined(batch(stamped(1), None, stamped(1), codec=codec), rules) == Examined()


@pytest.mark.parametrize("codec", list(Codec), ids=str)
def test_every_bad_record_is_named_with_its_index_and_reason(codec: Codec) -> None:
    known = {**FITS, stamp(2): Unregistered.UNREGISTERED, stamp(3): registered("u-value")}
    found = refusal(batch(stamped(1), b"raw", stamped(2), None, stamped(3), codec=codec), known=known)
    assert found.code is ErrorCode.INVALID_RECORD
    assert found.record_errors == (
        RecordError(1, "the value does not name a schema"),
        RecordError(2, "schema id 2 of the value is not registered"),
        RecordError(4, "schema id 3 of the value is not registered under the subject t-value"),
    )
    assert found.message == "one or more records have been rejected; record 1: the value does not name a schema"


def test_a_payload_that_does_not_decode_is_refused_at_level_payload_only() -> None:
    made = batch(stamped(1), stamped(1, b"bad"))
    assert examined(made) == Examined()
    assert refusal(made, PAYLOAD_LEVEL).record_errors == (RecordError(1, "the value does not match schema id 1: it is wrong"),)


def test_the_payload_of_a_header_is_the_rest_of_the_header_and_the_value() -> None:
    guid = b"\x01" + GUID
    headers = ((VALUE_HEADER, guid + b"b"),)
    found = refusal(batch(record(b"ad", headers=headers)), PAYLOAD_LEVEL, {guid: registered("t-value", wrong=b"bad")})
    assert found.record_errors[0].message == "the value does not match schema GUID 00010203-0405-0607-0809-0a0b0c0d0e0f: it is wrong"


def test_keys_and_values_have_rules_of_their_own() -> None:
    known = {stamp(1): registered("t-value", wrong=b"bad"), stamp(2): registered("t-key", wrong=b"bad")}
    assert examined(batch(record(stamped(1), key=stamped(2, b"bad"))), BOTH, known) == Examined()
    found = refusal(batch(record(stamped(2), key=b"raw"), record(None, key=None)), BOTH, known)
    assert found.record_errors == (
        RecordError(0, "the key does not name a schema; schema id 2 of the value is not registered under the subject t-value"),
    )


def test_unknown_stamps_become_questions() -> None:
    made = batch(record(stamped(1), key=stamped(8)), record(stamped(9), key=stamped(9)))
    assert examined(made, BOTH).questions == {stamp(8): False, stamp(9): True}


def test_a_question_says_whether_the_text_is_needed() -> None:
    made = batch(stamped(9), b"raw")
    assert examined(made, ID_LEVEL).questions == {stamp(9): False}
    assert examined(made, PAYLOAD_LEVEL).questions == {stamp(9): True}


def test_answers_decide_the_second_time() -> None:
    made = batch(stamped(9))
    assert examined(made, answers={stamp(9): registered("t-value")}) == Examined()
    (refused,) = examined(made, answers={stamp(9): registered("u-value")}).refused
    assert refused == (stamp(9), *expectations("t", ID_LEVEL))
    assert refusal(made, answers={stamp(9): Unregistered.UNREGISTERED}).code is ErrorCode.INVALID_RECORD
    assert refusal(made, answers={stamp(9): registered("u-value")}).code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("rules", [ID_LEVEL, PAYLOAD_LEVEL], ids=["id", "payload"])
def test_without_a_registry_a_batch_gets_an_error_that_producers_retry_or_passes(rules: SchemaRules) -> None:
    made, answers = batch(stamped(1), stamped(9)), {stamp(9): Unreachable("no answer")}
    found = refusal(made, rules, answers=answers)
    assert (found.code, found.record_errors) == (ErrorCode.NOT_ENOUGH_REPLICAS, ())
    assert found.message == "the schemas of the batch cannot be validated now: no answer"
    assert examined(made, rules, answers=answers, accept=True).verdict is None


@pytest.mark.parametrize("accept", [False, True])
def test_a_record_that_is_certainly_bad_is_refused_without_a_registry_too(accept: bool) -> None:
    found = refusal(batch(stamped(9), b"raw"), answers={stamp(9): Unreachable("no answer")}, accept=accept)
    assert (found.code, [each.batch_index for each in found.record_errors]) == (ErrorCode.INVALID_RECORD, [1])


def test_old_knowledge_is_used_and_named() -> None:
    schemas = KnownSchemas(10)
    schemas.learn(stamp(1), registered("t-value"), 0)
    made = batch(stamped(1))
    knowledge = Knowledge(schemas, 5000, 1000, 10, accept_unknown=False)
    found = examine(made, read_header(made), expectations("t", PAYLOAD_LEVEL), knowledge, {})
    assert found == Examined(stale={stamp(1): True})


def test_the_list_of_bad_records_has_a_limit() -> None:
    assert len(refusal(batch(*[b"raw"] * (RECORD_ERRORS_MAX + 5))).record_errors) == RECORD_ERRORS_MAX


def test_a_long_reason_is_shortened() -> None:
    answers = {stamp(9): Unreachable("x" * 10_000)}
    assert len(refusal(batch(stamped(9)), answers=answers).message) < 1000


def test_a_batch_that_cannot_be_read_is_invalid() -> None:
    made = bytearray(batch(stamped(1), codec=Codec.ZSTD))
    body = compress(Codec.ZSTD, b"\xff" * 50)
    damaged = checksummed(made[:61] + body)
    assert refusal(damaged).code is ErrorCode.INVALID_RECORD
    assert refusal(checksummed(made[:61] + b"not zstd")).message.startswith("the batch cannot be read: ")


def test_no_verdict_about_a_batch_with_a_wrong_checksum() -> None:
    made = bytearray(batch(b"raw"))
    made[-2] ^= 1
    assert examined(memoryview(made)) == Examined()


@pytest.mark.parametrize("size", [0, 12, 60])
def test_bytes_that_are_no_batch_have_no_header(size: int) -> None:
    assert readable_header(batch(stamped(1))[:size]) is None


def test_a_batch_cut_off_has_no_header() -> None:
    made = batch(stamped(1))
    assert readable_header(made) is not None
    assert readable_header(made[:-1]) is None
