"""Opens one batch and looks at its schemas, as far as the knowledge of this broker goes.

The steps that take time are here, so threads call :func:`examine`: decompression, the scan for
stamps, and the judgement of every record. The decompressed bytes live only as long as one call,
because a small batch may hold a lot of them. A batch whose stamps must be looked up is opened a
second time when the answers are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from crc32c import crc32c

from barnabas.model.dataclass import dataclass
from barnabas.records.batch_header import CHECKSUMMED_POSITION, HEADER_BYTES, MAGIC, BatchHeader, read_header
from barnabas.records.compression import DecompressionFailed, decompress
from barnabas.records.record import MalformedRecord, read_records
from barnabas.records.schema_rules import Level
from barnabas.records.validation import Refused
from barnabas.schema_validation.core.knowledge import Answer, Expected, KnownSchemas, Registered, Unregistered, Use
from barnabas.schema_validation.core.stamps import UNSTAMPED, Indexed, Stamp, Stamps, scan_stamps
from barnabas.schema_validation.core.verdict import judge, unreadable

Expectations = tuple[Expected, ...]
# Stamps to ask the registry about, and whether the text of the schema is needed.
Questions = dict[Stamp, bool]


@dataclass(slots=True)
class Examined:
    """Either a verdict, or questions. A verdict of None lets the batch through."""

    verdict: Refused | None = None
    questions: Questions = field(default_factory=dict)
    stale: Questions = field(default_factory=dict)
    """Knowledge that was used and is old."""
    refused: list[tuple[Stamp, Expected]] = field(default_factory=list)
    """Answers that do not fit."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What this broker knows at one moment, and the answers to the questions of one batch. Another
    thread may learn more meanwhile."""

    known: KnownSchemas
    now_ms: int
    fresh_ms: int
    missing_ms: int
    accept_unknown: bool

    def use(self, stamp: Stamp, expected: Expected) -> Use:
        return self.known.use(stamp, expected, self.now_ms, fresh_ms=self.fresh_ms, missing_ms=self.missing_ms)


def readable_header(records: memoryview) -> BatchHeader | None:
    """None for bytes that the append refuses in any case."""
    if len(records) < HEADER_BYTES:
        return None
    header = read_header(records)
    whole = header.magic == MAGIC and header.size_bytes == len(records) and header.record_count > 0
    return header if whole else None


def scan(body: Indexed, header: BatchHeader, expected: Expectations, *, end: int | None = None, loop_records_max: int = 2**31) -> Stamps:
    keys = values = False
    for each in expected:
        if each.part == "key":
            keys = True
        else:
            values = True
    return scan_stamps(body, header.record_count, keys=keys, values=values, end=end, loop_records_max=loop_records_max)


def of_part(stamps: Stamps, expected: Expected) -> set[Stamp]:
    return stamps.keys if expected.part == "key" else stamps.values


def examine(
    records: memoryview, header: BatchHeader, expected: Expectations, knowledge: Knowledge, answers: Mapping[Stamp, Answer]
) -> Examined:
    """``answers`` are those to the questions of an earlier call for this batch."""
    try:
        opened = decompress(header.codec, records[HEADER_BYTES:])
        body = bytes(opened) if isinstance(opened, memoryview) else opened
        examined, known, fits = _sort(scan(body, header, expected), expected, knowledge, answers)
        if examined.questions:
            return examined
        if not fits or any(each.rules.level is Level.PAYLOAD for each in expected):
            verdict = judge(read_records(header, body), expected, known, accept_unknown=knowledge.accept_unknown)
            examined.verdict = _unless_damaged(records, header, verdict)
        return examined
    except (DecompressionFailed, MalformedRecord) as error:
        return Examined(_unless_damaged(records, header, unreadable(error)))


def _sort(
    stamps: Stamps, expected: Expectations, knowledge: Knowledge, answers: Mapping[Stamp, Answer]
) -> tuple[Examined, dict[Stamp, Answer], bool]:
    """The questions that are open, the knowledge that the verdict needs, and whether all stamps are
    known to fit."""
    examined = Examined()
    known = dict(answers)
    fits = True
    for each in expected:
        for stamp in of_part(stamps, each):
            use = Use.DOES_NOT_FIT if stamp == UNSTAMPED or stamp in answers else knowledge.use(stamp, each)
            answer = known.get(stamp) or knowledge.known.answer(stamp)
            if use is Use.ASK or (answer is None and stamp != UNSTAMPED):
                examined.questions[stamp] = examined.questions.get(stamp, False) or each.needs_facts
                continue
            if answer is not None:
                known[stamp] = answer
            if stamp in answers and _does_not_fit(answers[stamp], each):
                examined.refused.append((stamp, each))
            if use is Use.FITS_ASK_AGAIN:
                examined.stale[stamp] = examined.stale.get(stamp, False) or each.needs_facts
            elif use is not Use.FITS:
                fits = False
    return examined, known, fits


def _does_not_fit(answer: Answer, expected: Expected) -> bool:
    return answer is Unregistered.UNREGISTERED or (isinstance(answer, Registered) and not answer.fits(expected))


def _unless_damaged(records: memoryview, header: BatchHeader, verdict: Refused | None) -> Refused | None:
    """A batch that was damaged on its way is not its producer's fault: the append refuses it with
    CORRUPT_MESSAGE, and the producer sends it again."""
    if verdict is None or crc32c(records[CHECKSUMMED_POSITION:]) != header.crc:
        return None
    return verdict
