from __future__ import annotations

from barnabas.administration.dead_letter import Origin, Position, decode, encode, headers_again, origin_of

OF_PIPELINE = [
    ("own", b"1"),
    ("barnabas.dead_letter.reason", b"no JSON"),
    ("barnabas.dead_letter.pipeline", b"payments"),
    ("barnabas.dead_letter.topic", b"orders"),
    ("barnabas.dead_letter.partition", b"3"),
    ("barnabas.dead_letter.offset", b"17"),
    ("barnabas.dead_letter.timestamp", b"1000"),
    ("barnabas.redriven", b"2"),
]
OF_SHARE_GROUP = [
    (f"__dlq.errors.{name}", value)
    for name, value in {
        "topic": b"orders",
        "partition": b"0",
        "offset": b"5",
        "group": b"workers",
        "delivery.count": b"4",
        "message": b"rejected",
    }.items()
]


def test_a_letter_of_a_pipeline_has_its_origin() -> None:
    assert origin_of(OF_PIPELINE) == Origin("payments", False, "no JSON", "orders", Position("orders", 3, 17, 1000), 2, None)


def test_a_letter_of_a_share_group_has_its_origin_and_deliveries() -> None:
    assert origin_of(OF_SHARE_GROUP) == Origin("workers", True, "rejected", "orders", Position("orders", 0, 5, None), 0, 4)


def test_headers_that_say_nothing_are_no_letter() -> None:
    assert origin_of([("own", b"1"), ("none", None)]) is None


def test_a_letter_with_a_strange_position_has_none() -> None:
    for strange in (b"", b"-1", b"x", b"9" * 40, None):
        headers = [(name, strange if name.endswith(".offset") else value) for name, value in OF_PIPELINE]
        origin = origin_of(headers)
        assert origin is not None
        assert origin.position is None


def test_a_record_that_is_sent_again_keeps_its_own_headers_and_counts() -> None:
    assert headers_again(OF_PIPELINE, 2) == [("own", b"1"), ("barnabas.redriven", b"3")]


def test_positions_are_written_and_read() -> None:
    positions = [Position("a", 0, 5, None), Position("b", 1, 6, 7), Position("a", 2, 8, 9)]
    assert set(decode(encode(positions))) == set(positions)
