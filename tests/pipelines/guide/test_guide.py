"""Every row of the guide's tables works as described: the rows are read from the page and run, over
five orders and two payments.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines import Pipeline
from barnabas.testing import EmbeddedBroker
from tests.pipelines.guide.guide_page import Row, rows, sources
from tests.pipelines.topics import Read, Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Rows run in groups, side by side: starting a query costs more than these few records.
GROUP_SIZE = 12
# The first test of a group waits for all of the group's queries. This takes minutes on a small
# machine, so it belongs to `make soak`.
pytestmark = [pytest.mark.timeout(900), pytest.mark.soak]

DAY = "2030-01-07"
OSLO, ROME = {"city": "Oslo", "zip": "0150"}, {"city": "Rome", "zip": "00100"}
ORDERS = [
    ("ann", {"id": 1, "item": "hat", "cents": 500, "tags": ["red", "wool"], "place": OSLO, "at": f"{DAY}T10:00:05.000Z"}),
    ("bob", {"id": 2, "item": "cap", "cents": 80, "tags": ["blue"], "place": ROME, "at": f"{DAY}T10:00:40.000Z"}),
    ("ann", {"id": 3, "item": "cap", "cents": 90, "tags": [], "place": OSLO, "at": f"{DAY}T10:01:10.000Z"}),
    ("ann", {"id": 4, "item": "hat", "cents": 700, "tags": ["red"], "place": OSLO, "at": f"{DAY}T10:12:00.000Z"}),
]
PAYMENTS = [{"order_id": 1, "paid": 450, "paid_at": f"{DAY}T10:00:30.000Z"}, {"order_id": 3, "paid": 90, "paid_at": f"{DAY}T10:20:00.000Z"}]
TEST_ORDER = 2  # has the header "test"

ALL = [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]
WINDOWS_THAT_CLOSED = [
    {"customer": "ann", "minute": f"{DAY}T10:00:00.000Z", "orders": 1},
    {"customer": "bob", "minute": f"{DAY}T10:00:00.000Z", "orders": 1},
    {"customer": "ann", "minute": f"{DAY}T10:01:00.000Z", "orders": 1},
]
ANN = {"customer": "ann", "name": "Ann", "city": "Oslo"}
# The output of each row, in any order; for results that change, the last value of each key.
VALUES: dict[str, list[Any]] = {
    "`filter`": [{"id": 1}, {"id": 4}],
    "`filterNot`": [{"id": 2}, {"id": 3}],
    "`map`, `mapValues`": [{"id": 1, "amount": 5.0}, {"id": 2, "amount": 0.8}, {"id": 3, "amount": 0.9}, {"id": 4, "amount": 7.0}],
    "`flatMap`, `flatMapValues`": [{"id": 1, "tag": "red"}, {"id": 1, "tag": "wool"}, {"id": 2, "tag": "blue"}, {"id": 4, "tag": "red"}],
    "`merge`": [*ALL, {"id": 1}, {"id": 3}],
    "`split`, `branch` (a step and a sink for each)": [{"id": 1}, {"id": 4}],
    "`groupByKey().count()`": [{"customer": "ann", "orders": 3}, {"customer": "bob", "orders": 1}],
    "`groupBy().reduce()`": [{"item": "hat", "most": 700}, {"item": "cap", "most": 90}],
    "`cogroup`": [
        {"id": 1, "cents": 500, "paid": 450},
        {"id": 2, "cents": 80, "paid": 0},
        {"id": 3, "cents": 90, "paid": 90},
        {"id": 4, "cents": 700, "paid": 0},
    ],
    "`windowedBy(TimeWindows)`": [*WINDOWS_THAT_CLOSED, {"customer": "ann", "minute": f"{DAY}T10:12:00.000Z", "orders": 1}],
    "`windowedBy(TimeWindows.advanceBy)`": [
        {"start": f"{DAY}T{minute}:00.000Z", "orders": count}
        for minute, count in (("09:59", 2), ("10:00", 3), ("10:01", 1), ("10:11", 1), ("10:12", 1))
    ],
    "`windowedBy(SessionWindows)`": [
        {"customer": "ann", "start": f"{DAY}T10:00:05.000Z", "orders": 2},
        {"customer": "bob", "start": f"{DAY}T10:00:40.000Z", "orders": 1},
    ],
    "`suppress(untilWindowCloses)`": WINDOWS_THAT_CLOSED,
    "`join` with a stream": [{"id": 1, "paid": 450}],
    "`leftJoin` with a stream": [{"id": 1, "paid": 450}, {"id": 2, "paid": None}, {"id": 3, "paid": None}],
    "`outerJoin` with a stream": [{"id": 1, "paid": 450}, {"id": 2, "paid": None}, {"id": 3, "paid": None}],
    "`join` with a `GlobalKTable`": [{"id": each, "name": "Ann"} for each in (1, 3, 4)],
    "`process`, `transform`": [{"customer": "ann", "orders": 3}, {"customer": "bob", "orders": 1}],
    "`Cast`": [{"id": 1, "cents": "500"}, {"id": 2, "cents": "80"}, {"id": 3, "cents": "90"}, {"id": 4, "cents": "700"}],
    "`Filter` with `HasHeaderKey`": [{"id": 1}, {"id": 3}, {"id": 4}],
    "`Filter` with `TopicNameMatches`": ALL,
    "`Flatten`": [{"id": order["id"], **order["place"]} for _, order in ORDERS],  # type: ignore[dict-item]
    "`HoistField`": [{"hoisted": {"id": order["id"], "item": order["item"]}} for _, order in ORDERS],
    "`InsertField`": [{"id": number + 1, "part": 0, "place": number, "origin": "shop"} for number in range(4)],
    "`MaskField`": [{"id": number + 1, "item": "xxx"} for number in range(4)],
    "`ReplaceField`": [
        {"customer": customer, "id": order["id"], "cents": order["cents"], "product": order["item"]} for customer, order in ORDERS
    ],
    "`TimestampConverter`": [
        {"id": 1, "at_ms": 1894010405000, "day": DAY},
        {"id": 2, "at_ms": 1894010440000, "day": DAY},
        {"id": 3, "at_ms": 1894010470000, "day": DAY},
        {"id": 4, "at_ms": 1894011120000, "day": DAY},
    ],
}
BY_ITEM = [("hat", 1), ("cap", 2), ("cap", 3), ("hat", 4)]
ROUTED = {
    "`to` with a `TopicNameExtractor`": {"orders.hat": [1, 4], "orders.cap": [2, 3]},
    "`RegexRouter`": {"sold": [1, 2, 3, 4]},
    "`TimestampRouter`": {"orders.20300107": [1, 2, 3, 4]},
}


class Guide:
    """Runs a group of rows when the first of them is needed."""

    def __init__(self, session: SparkSession, topics: Topics, checkpoint: str, only: Collection[str]) -> None:
        self.topics = topics
        self._only = only
        self._session = session
        self._checkpoint = checkpoint
        self._rows = rows()
        self._ran: set[int] = set()

    def records(self, operation: str) -> list[Read]:
        number = next(position for position, row in enumerate(self._rows) if row.operation == operation)
        self._run(number // GROUP_SIZE)
        return self.topics.read(self._topic(number))

    def _run(self, group: int) -> None:
        if group in self._ran:
            return
        self._ran.add(group)
        pipeline = Pipeline(f"guide-{group}", bootstrap=self.topics.bootstrap)
        for name, fields in sources().items():
            kind = "table" if "table" in fields else "topic"
            pipeline.source(name, **{**fields, kind: self.topics.name(fields[kind])})
        for number, row in enumerate(self._rows):
            if number // GROUP_SIZE == group and (not self._only or row.operation in self._only):
                self._add(pipeline, number, row)
        pipeline.run(session=self._session, checkpoint=self._checkpoint, available_now=True)

    def _add(self, pipeline: Pipeline, number: int, row: Row) -> None:
        view = f"row_{number}"
        if row.step:
            pipeline.step(view, **row.step)
        sink = row.sink
        if "console" not in sink:
            # Use both guarantees, because a row must work with either.
            guarantee = "exactly_once" if "route" in sink or number % GROUP_SIZE == 0 else "at_least_once"
            sink = {"topic": self._topic(number), "guarantee": guarantee, **sink}
        pipeline.sink(f"sink_{number}", from_=view if row.step else "orders", **sink)

    def _topic(self, number: int) -> str:
        return self.topics.name(f"out-{number}")


@contextmanager
def guide_on(bootstrap: str, session: SparkSession, checkpoint: str, only: Collection[str] = ()) -> Iterator[Guide]:
    """``only``: these operations, or all of them."""
    with Topics(bootstrap, "guide") as topics:
        orders, payments, customers = (
            topics.create("orders"),
            topics.create("payments"),
            topics.create("customers", cleanup_policy="compact"),
        )
        for routed in ROUTED.values():
            for name in routed:
                topics.create(name)
        for number in range(len(rows())):
            topics.create(f"out-{number}")
        for customer, order in ORDERS:
            headers = {"test": b"yes"} if order["id"] == TEST_ORDER else {}
            topics.send_record(orders, customer.encode(), json.dumps(order).encode(), headers)
        topics.send(payments, PAYMENTS)
        topics.send_record(customers, b"ann", json.dumps({"name": "Ann", "city": "Paris"}).encode())
        topics.send_record(customers, b"ann", json.dumps({"name": "Ann", "city": "Oslo"}).encode())
        topics.send_record(customers, b"bob", json.dumps({"name": "Bob", "city": "Rome"}).encode())
        topics.send_record(customers, b"bob", None)
        yield Guide(session, topics, checkpoint, only)


@pytest.fixture(scope="module")
def guide(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guide]:
    with (
        EmbeddedBroker(process=True) as broker,
        guide_on(broker.bootstrap, spark, str(tmp_path_factory.mktemp("guide"))) as guide,
    ):
        yield guide


@pytest.mark.parametrize("operation", VALUES)
def test_a_row_gives_its_documented_values(guide: Guide, operation: str) -> None:
    check_values(guide, operation)


def check_values(guide: Guide, operation: str) -> None:
    found = guide.records(operation)
    if any(each.key is not None for each in found):
        last = {each.key: each for each in found}
        found = list(last.values())
    assert _sorted(each.json for each in found) == _sorted(VALUES[operation])


@pytest.mark.parametrize("operation", ["`selectKey`", "`ValueToKey`"])
def test_keys_are_taken_from_values(guide: Guide, operation: str) -> None:
    assert sorted((_text(each.key), each.json["id"]) for each in guide.records(operation)) == sorted(BY_ITEM)


def test_keys_may_be_fields_of_fields(guide: Guide) -> None:
    found = guide.records("`repartition` (as many as the topic has)")
    assert sorted(_text(each.key) for each in found) == ["Oslo", "Oslo", "Oslo", "Rome"]


@pytest.mark.parametrize("operation", ROUTED)
def test_rows_go_to_the_topics_their_route_names(guide: Guide, operation: str) -> None:
    assert guide.records(operation) == [], "none was left for the sink's own topic"
    for topic, ids in ROUTED[operation].items():
        assert sorted(each["id"] for each in guide.topics.values(guide.topics.name(topic))) == ids


def test_aggregates_hold_the_collected_values(guide: Guide) -> None:
    last = {each.key: each.json for each in guide.records("`aggregate`")}
    assert last[b"ann"]["cents"] == 1290
    assert sorted(last[b"ann"]["items"]) == ["cap", "hat"]


@pytest.mark.parametrize(("operation", "strangers"), [("`join` with a `KTable`", []), ("`leftJoin` with a `KTable`", [2])])
def test_streams_are_joined_with_tables(guide: Guide, operation: str, strangers: list[int]) -> None:
    found = {each.json["id"]: each.json["customers"] for each in guide.records(operation)}
    assert sorted(found) == sorted([1, 3, 4, *strangers])
    assert {number: table for number, table in found.items() if table is None} == dict.fromkeys(strangers)
    assert (found[1]["name"], found[1]["city"]) == ("Ann", "Oslo")


def test_a_table_becomes_a_topic_with_keys(guide: Guide) -> None:
    last = {each.key: each.json for each in guide.records("`toTable` (and read it as `table:`)")}
    assert last == {b"ann": {"id": 4, "item": "hat"}, b"bob": {"id": 2, "item": "cap"}}


def test_tombstones_delete_their_keys(guide: Guide) -> None:
    found = {each.key: each.value is None for each in guide.records("deleting from a `KTable`")}
    assert found == {b"1": False, b"2": True, b"3": True, b"4": False}


def test_distinct_rows_come_once(guide: Guide) -> None:
    found = guide.records("distinct")
    assert sorted((each.json["customer"], each.json["item"]) for each in found) == [("ann", "cap"), ("ann", "hat"), ("bob", "cap")]


def test_a_row_can_be_shown_on_the_terminal(guide: Guide) -> None:
    assert guide.records("`peek`, `print`") == []


def test_headers_are_the_declared_ones(guide: Guide) -> None:
    assert {tuple(each.headers) for each in guide.records("`DropHeaders` (only declared ones are written)")} == {()}
    assert {each.headers["city"] for each in guide.records("`HeaderFrom`")} == {b"Oslo", b"Rome"}
    assert [each.headers for each in guide.records("`InsertHeader`")] == [{"origin": b"shop"}] * 4


def test_a_single_field_can_be_the_whole_value(guide: Guide) -> None:
    assert sorted(_text(each.value) for each in guide.records("`ExtractField`")) == ["Oslo", "Oslo", "Oslo", "Rome"]


def test_every_row_of_the_page_is_tested() -> None:
    here = {
        *VALUES,
        *ROUTED,
        *("`selectKey`", "`ValueToKey`", "`repartition` (as many as the topic has)", "`aggregate`", "`join` with a `KTable`"),
        *("`leftJoin` with a `KTable`", "`toTable` (and read it as `table:`)", "deleting from a `KTable`", "distinct", "`peek`, `print`"),
        *("`DropHeaders` (only declared ones are written)", "`HeaderFrom`", "`InsertHeader`", "`ExtractField`"),
    }
    assert {row.operation for row in rows()} == here


def _sorted(values: Any) -> list[str]:
    return sorted(json.dumps(value, sort_keys=True) for value in values)


def _text(value: bytes | None) -> str:
    return (value or b"").decode()
