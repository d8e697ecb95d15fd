"""Pushes as Google's protobuf writes them, and bytes that it would not write."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from barnabas.client_metrics.core.otlp_fields import Budget, MalformedOtlp, OtlpTooLarge, bytes_field, fields
from barnabas.client_metrics.core.otlp_labels import RESOURCES_MAX, with_labels
from barnabas.client_metrics.core.otlp_reader import POINT_CHARACTERS_MAX, read_otlp
from tests.otlp import CUMULATIVE, counter, gauge, message, metrics_data, read

PUSH = metrics_data(gauge("g", 1.5, topic="t", node="1"), counter("c.total", 3), resource={"group_id": "g1"}).SerializeToString()


def test_gauges_and_sums_are_read_with_their_attributes() -> None:
    opened = read_otlp(PUSH)
    first, second = opened.points
    assert (first.name, first.attributes, first.value, first.counts, first.delta) == (
        "g",
        (("topic", "t"), ("node", "1")),
        1.5,
        False,
        False,
    )
    assert (second.name, second.value, second.counts, second.delta) == ("c.total", 3.0, True, True)
    assert opened.resource == {"group_id": "g1"}


def test_cumulative_sums_and_sums_that_may_fall_are_no_counted_deltas() -> None:
    falling = counter("f", 1)
    falling.sum.is_monotonic = False
    cumulative, delta = read_otlp(metrics_data(counter("c", 1, temporality=CUMULATIVE), falling).SerializeToString()).points
    assert (cumulative.counts, cumulative.delta) == (True, False)
    assert (delta.counts, delta.delta) == (False, True)


def test_values_of_every_kind_become_text_and_lists_are_left_out() -> None:
    metric = gauge("g", 1.0)
    (point,) = metric.gauge.data_points
    point.attributes.add(key="bool").value.bool_value = True
    point.attributes.add(key="int").value.int_value = -5
    point.attributes.add(key="double").value.double_value = 0.5
    point.attributes.add(key="list").value.array_value.values.add().string_value = "x"
    point.attributes.add(key="nothing")
    (read_point,) = read_otlp(metrics_data(metric).SerializeToString()).points
    assert dict(read_point.attributes) == {"bool": "true", "int": "-5", "double": "0.5"}


def test_points_without_a_value_and_metrics_of_other_kinds_are_not_shown() -> None:
    empty, flagged, histogram = gauge("e", 1.0), gauge("f", 1.0), message("Metric")
    empty.gauge.data_points[0].ClearField("as_double")
    flagged.gauge.data_points[0].flags = 1
    histogram.name = "h"
    histogram.histogram.aggregation_temporality = 1
    opened = read_otlp(metrics_data(empty, flagged, histogram).SerializeToString())
    assert (opened.points, opened.other_kinds) == ([], 1)


def test_a_point_with_too_much_text_is_counted_and_dropped() -> None:
    opened = read_otlp(metrics_data(gauge("g", 1.0, a="x" * POINT_CHARACTERS_MAX), gauge("h", 1.0, a="x")).SerializeToString())
    assert [point.name for point in opened.points] == ["h"]
    assert opened.too_long == 1


@pytest.mark.parametrize("size", range(1, len(PUSH)))
def test_a_truncated_push_is_malformed(size: int) -> None:
    with pytest.raises(MalformedOtlp):
        read_otlp(PUSH[:size])


@pytest.mark.parametrize("data", [b"\x00", b"\x07", b"\x0b\x0c", b"\x80" * 12, b"\x09\x00", b"\x0d\x00"])
def test_bytes_that_are_no_fields_are_malformed(data: bytes) -> None:
    with pytest.raises(MalformedOtlp):
        read_otlp(data)


def test_a_message_that_nests_itself_is_not_opened() -> None:
    value = b""
    for _ in range(10_000):
        value = bytes_field(5, bytes_field(1, value))
    attribute = bytes_field(1, b"deep") + bytes_field(2, value)
    point = bytes_field(7, attribute) + b"\x21" + bytes(8)
    metric = bytes_field(1, b"g") + bytes_field(5, bytes_field(1, point))
    (read_point,) = read_otlp(bytes_field(1, bytes_field(2, bytes_field(2, metric)))).points
    assert read_point.attributes == ()


def test_a_push_with_too_many_fields_is_too_large() -> None:
    many = bytes_field(1, bytes_field(2, bytes_field(2, b"") * 1000))
    read_otlp(many, Budget(1002))
    with pytest.raises(OtlpTooLarge):
        read_otlp(many, Budget(1001))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(MalformedOtlp):
        with_labels(data, {}) if read_otlp(data) else None


@given(st.integers(0, len(PUSH) - 1), st.integers(0, 255))
def test_a_push_with_one_wrong_byte_is_read_or_refused(position: int, byte: int) -> None:
    changed = bytearray(PUSH)
    changed[position] = byte
    with suppress(MalformedOtlp):
        read_otlp(bytes(changed))


@given(st.floats(), st.integers(-(1 << 63), (1 << 63) - 1), st.text(max_size=20))
def test_every_value_and_text_is_read_as_protobuf_wrote_it(value: float, whole: int, text: str) -> None:
    first, second = read_otlp(metrics_data(gauge("g", value, a=text), counter("c", whole)).SerializeToString()).points
    assert first.value == value or (math.isnan(first.value) and math.isnan(value))
    assert second.value == float(whole)
    assert dict(first.attributes) == {"a": text}


# -- with labels for a collector ---------------------------------------------------------------


def test_forwarded_metrics_are_the_same_with_the_labels_of_their_client() -> None:
    forwarded = read(with_labels(PUSH, {"client_id": "ä", "broker_id": "1"}))
    (resource_metrics,) = forwarded.resource_metrics
    found = {each.key: each.value.string_value for each in resource_metrics.resource.attributes}
    assert found == {"group_id": "g1", "client_id": "ä", "broker_id": "1"}
    assert resource_metrics.scope_metrics == read(PUSH).resource_metrics[0].scope_metrics


def test_a_client_cannot_forge_a_label() -> None:
    forged = metrics_data(gauge("g", 1.0), resource={"client_id": "forged", "mine": "kept"}).SerializeToString()
    (resource_metrics,) = read(with_labels(forged, {"client_id": "true"})).resource_metrics
    assert [(each.key, each.value.string_value) for each in resource_metrics.resource.attributes] == [
        ("mine", "kept"),
        ("client_id", "true"),
    ]


def test_resources_that_repeat_are_written_once() -> None:
    repeated = b"".join(metrics_data(gauge(f"g{n}", 1.0), resource={"a": "b"}).SerializeToString() for n in range(50))
    (resource_metrics,) = read(with_labels(repeated, {"client_id": "x"})).resource_metrics
    assert [each.metrics[0].name for each in resource_metrics.scope_metrics] == [f"g{n}" for n in range(50)]


def test_too_many_resources_are_too_large() -> None:
    many = b"".join(metrics_data(resource={"a": str(n)}).SerializeToString() for n in range(RESOURCES_MAX + 1))
    with pytest.raises(OtlpTooLarge):
        with_labels(many, {"client_id": "x"})


def test_fields_are_written_as_they_are_read() -> None:
    content = b"x" * 300
    assert list(fields(bytes_field(3, content), Budget())) == [(3, 2, 0, content)]
