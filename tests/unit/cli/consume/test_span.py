from __future__ import annotations

import pytest

from barnabas.cli.consume.command import parse_span
from barnabas.cli.consume.span import AtTime, LogEnds, Range, Span, parse_offset, resolve
from barnabas.cli.errors import Refused

# Ten offsets are gone, and thirty are there.
LOG = LogEnds(10, 40)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("15", 15, None),
        ("-5", 35, None),
        ("earliest", 10, None),
        ("beginning", 10, None),
        ("latest", 40, None),
        ("end", 40, None),
        ("15:20", 15, 20),
        (":20", 10, 20),
        ("15:", 15, 40),
        ("-5:", 35, 40),
        (":-5", 10, 35),
        ("-10:-5", 30, 35),
        ("15:+5", 15, 20),
        ("-5:+2", 35, 37),
        (":", 10, 40),
        ("earliest:latest", 10, 40),
        # Offsets outside the log.
        ("3", 10, None),
        ("3:12", 10, 12),
        ("39:99", 39, 40),
        ("-99:", 10, 40),
        ("3:5", 10, 10),
    ],
)
def test_an_offset_or_a_range_is_resolved_within_the_log(text: str, start: int, end: int | None) -> None:
    assert resolve(parse_offset(text), LOG, {}) == Range(start, end)


@pytest.mark.parametrize("text", ["", "soon", "1:2:3", "--5", "1-2", "+5", "5:soon", "9" * 19, "5:--1", "+5:10", "stored"])
def test_another_offset_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(Refused, match="--offset takes a number, -N, earliest, latest, or a range such as"):
        parse_offset(text)


def test_kcats_notation_of_times_is_answered_with_the_option_to_use() -> None:
    with pytest.raises(Refused, match="for s@17 use --from-time 17"):
        parse_offset("s@17")
    with pytest.raises(Refused, match="for e@17 use --to-time 17"):
        parse_offset("e@17")


def test_a_range_that_ends_before_it_starts_is_empty() -> None:
    assert resolve(parse_offset("20:15"), LOG, {}).is_empty
    assert resolve(parse_offset("3:5"), LOG, {}).is_empty
    assert not resolve(parse_offset("20"), LOG, {}).is_empty


def test_a_time_without_a_record_at_or_after_it_is_the_end() -> None:
    span = Span(AtTime(100), AtTime(200))
    assert resolve(span, LOG, {100: 12, 200: None}) == Range(12, 40)
    assert resolve(span, LOG, {100: None, 200: None}).is_empty


def test_an_end_alone_starts_at_the_first_record() -> None:
    assert resolve(parse_span(False, to_time="200"), LOG, {200: 20}) == Range(10, 20)
    assert resolve(parse_span(False, until_end=True), LOG, {}) == Range(10, 40)
    assert resolve(parse_span(False), LOG, {}) == Range(40, None)
    assert resolve(parse_span(True, until_end=True), LOG, {}) == Range(10, 40)
    assert resolve(parse_span(False, "15:20", until_end=True), LOG, {}) == Range(15, 20)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"offset": "1", "from_time": "2"}, "each choose where to start"),
        ({"offset": "1:2", "to_time": "2"}, "each choose an end"),
        ({"offset": "1:2", "follow": True}, "--follow goes on after the end"),
        ({"until_end": True, "follow": True}, "--follow goes on after the end"),
        ({"to_time": "5", "follow": True}, "--follow goes on after the end"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: dict[str, object], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        parse_span(False, **words)  # type: ignore[arg-type]
