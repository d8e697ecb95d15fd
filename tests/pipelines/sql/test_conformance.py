# ruff: noqa: E501 - a query a line
"""The embedded engine answers like Spark: the same columns, types and rows for each query.

Spark is asked about all queries over the same records, which it reads once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark
from barnabas.pipelines.sql.answering import Answer, EngineChoice, TopicSql
from barnabas.pipelines.sql.answers import plain_row
from barnabas.pipelines.sql.topic_query import TopicQuery
from tests.pipelines.conftest import Broker
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("duckdb", reason="pip install 'barnabas[sql]'")

# As many records as the sample has follow those whose types differ.
SAMPLE = 20
FIRST_MS = 1_700_000_000_000
ORDERS: list[Any] = [
    {
        "id": 1,
        "status": "paid",
        "amount": 12.5,
        "at": "2030-01-31T12:30:15Z",
        "who": {"name": "Ádám", "age": 40},
        "tags": ["a", "b"],
        "big": 1,
    },
    {"id": 2, "status": "open", "amount": 2.675, "at": "2030-01-31T23:59:59.999999+02:00", "who": {"name": "李", "age": None}, "tags": []},
    {"id": 3, "status": "paid", "amount": 100, "at": "2030-02-01", "who": {"name": "bob"}, "tags": ["c", None], "ok": True},
    {"id": 4, "status": None, "amount": -0.5, "at": None, "who": None, "tags": None, "ok": False, "big": 12345678901234567890},
    {"id": 5, "amount": 3, "ok": None, "Mixed": 150, "big": -98765432109876543210, "lines": [{"sku": "x", "n": 1}, {"sku": "y", "n": 2}]},
    {
        "id": 6,
        "status": "paid",
        "Mixed": "text",
        "who": {"name": "Eve", "age": 22},
        "n": "12",
        "lines": [{"sku": "z"}],
        "deep": {"er": {"est": [1, 2]}},
    },
    {"id": 7, "status": "", "Mixed": True, "amount": 1e20, "n": "-7", "weird name": 1, "at": "1969-12-31 23:59:59.5"},
    {"id": -8, "status": "späť 😀", "amount": 0.0, "n": "34", "Mixed": 10000000000000000000000, "at": "1900-01-01T00:00:00"},
    {"id": 9, "status": " padded ", "amount": 2.5, "tags": ["a"], "ok": True, "big": 0, "weird name": 2},
    None,  # a tombstone
    b"not JSON",
    b"",
    b'"a text"',
    b"17",
    {},
]
# Values that are not of the type that the sample (the newest records of each partition) shows.
OTHERS: list[Any] = [
    {"id": "one", "flag": 1, "f": "x", "s": 5, "t": "soon", "o": 3, "l": 1},
    {"id": 1.5, "flag": "true", "f": "NaN", "s": 150, "t": 86400, "o": "x", "l": {"a": 1}},
    {"id": 2**63, "flag": None, "f": True, "s": False, "t": "2030-05-05T05:05:05.123456789Z", "o": {"n": "x", "m": 1}, "l": [3]},
    {"id": 10**30, "f": 10**400, "s": -17, "t": "yesterday", "o": {"m": "text"}, "l": None},
    {"id": True, "flag": True, "f": "", "s": "", "t": "", "o": "", "l": ""},
    {"id": 7, "flag": False, "f": 7, "s": "x", "t": "2030-01-01T00:00:00+14:00", "o": {"n": 5, "m": "y"}, "l": [1, 2], "id2": "x"},
    b'{"s": 150, "id": 100}',
    b' {"f" : 1E5, "id":101 , "id" : 102}',
    b'{"f": -0.0, "o": {}, "l": []}',
]
SHOWN = [
    {"id": number, "flag": True, "f": 0.5, "s": "text", "t": "2030-01-01T00:00:00Z", "o": {"n": 1, "m": "x"}, "l": [1]}
    for number in range(SAMPLE)
]

QUERIES = """
SELECT * FROM {orders}
SELECT count(*) FROM {orders}
SELECT _key, _partition, _offset, _timestamp, _headers FROM {orders}
SELECT _headers['trace'] AS trace, _headers['none'] FROM {orders}
SELECT * FROM {others}
SELECT id, f, s, t FROM {others} WHERE id IS NOT NULL OR t > '2030-01-01'
SELECT o.n, O.M, l[0] FROM {others} WHERE l IS NOT NULL AND size(l) > 0
SELECT * FROM {lines}
SELECT * FROM {raw}
SELECT value, length(value), upper(value) AS u FROM {lines} WHERE value LIKE '%o%'
SELECT status, count(*) FROM {orders} GROUP BY status
SELECT status, count(*) AS n, sum(id), avg(id), min(amount), max(amount), sum(amount) FROM {orders} GROUP BY 1 ORDER BY n DESC, status
SELECT count(status), count(DISTINCT status), count_if(ok), bool_or(ok), bool_and(ok) FROM {orders}
SELECT sum(id), avg(amount), min(status), max(at), min(big), max(big), sum(big) FROM {orders}
SELECT sum(id), count(amount), max(at) FROM {orders} WHERE id > 1000
SELECT id FROM {orders} ORDER BY id
SELECT id FROM {orders} ORDER BY id DESC
SELECT id, status FROM {orders} ORDER BY status DESC NULLS FIRST, id ASC NULLS LAST
SELECT ID, Status, WHO.NAME FROM {orders} ORDER BY ID
SELECT who.name, who.age + 1, who FROM {orders}
SELECT tags, tags[0], size(tags) FROM {orders} WHERE size(tags) > 0
SELECT lines, lines[0].sku, lines[0] FROM {orders} WHERE lines IS NOT NULL
SELECT deep.er.est[1], deep FROM {orders}
SELECT `weird name`, `weird name` * 2 AS twice FROM {orders}
SELECT Mixed, length(Mixed) FROM {orders} WHERE Mixed IS NOT NULL
SELECT big, big + 1, big * 2, -big, big > 5 AS f, big = 12345678901234567890.0 AS e FROM {orders} WHERE id <> 7
SELECT id + 1, id - 1, id * 2, id / 2, id % 3, -id, id DIV 2, +id AS p FROM {orders}
SELECT amount + 1, amount - id, amount * 2, amount / 4, -amount, amount + 0.5, id + 1.5, id * 0.25 FROM {orders}
SELECT 7 / 2, 7 % 4, 7 DIV 2, 1 + 1, 2147483647 + 0, 3000000000, 1.50, 1e3 AS e, 'text', true, NULL, -5 FROM {orders} LIMIT 1
SELECT 1
SELECT 1 AS a, 'b' AS b UNION ALL SELECT 2, 'c'
SELECT id > 3, id >= 3, id < 3, id <= 3, id = 3, id <=> NULL, id > 2.5 AS h, amount > 2 FROM {orders}
SELECT id FROM {orders} WHERE id <> 3 AND NOT (id = 4) OR id IS NULL
SELECT id, status IS NULL, status IS NOT NULL AS there FROM {orders}
SELECT id FROM {orders} WHERE id BETWEEN 2 AND 4.5 AND amount BETWEEN 1 AND 50
SELECT id FROM {orders} WHERE status IN ('paid', 'open') AND id IN (1, 2, 3, 4000000000)
SELECT id FROM {orders} WHERE status NOT IN ('paid', NULL)
SELECT id FROM {orders} WHERE status LIKE 'p%' OR status LIKE '_pe_' OR status LIKE ''
SELECT CASE WHEN id > 5 THEN 'big' WHEN id > 2 THEN status ELSE 'small' END AS c, CASE status WHEN 'paid' THEN 1 END AS d FROM {orders}
SELECT if(ok, 1, 2) AS i, if(id > 3, amount, id) AS j, nvl(status, '?'), coalesce(status, who.name, 'x'), ifnull(id, 0) FROM {orders}
SELECT nullif(id, 3) AS n, greatest(id, 3, 5), least(amount, 2), greatest(status, 'open') FROM {orders}
SELECT upper(status), lower(status), length(status), trim(status), ltrim(status), rtrim(status) FROM {orders} WHERE id <> -8
SELECT length(status), length(who.name), who.name || '!' AS s, concat(status, '-', who.name), concat(status) FROM {orders}
SELECT substring(status, 2, 3) AS s, substr(status, 2) AS r, left(status, 2) AS l FROM {orders}
SELECT replace(status, 'a', 'ää'), startswith(status, 'p'), endswith(status, 'd'), contains(status, 'a'), instr(status, '😀') FROM {orders}
SELECT abs(id), abs(amount), floor(amount) AS f, ceil(amount) AS c, round(amount, 2), round(amount), round(id), sqrt(abs(id)) AS q FROM {orders} WHERE amount < 1000
SELECT round(avg(amount), 2) AS r, round(2.675e0, 2) AS s, round(-2.5e0) AS t, round(0.285e0, 2) AS u, round(1.005e0, 2) AS v FROM {orders} WHERE amount < 1000
SELECT CAST(id AS STRING), CAST(id AS DOUBLE), CAST(amount AS BIGINT), CAST(id AS INT), CAST(ok AS STRING), CAST(ok AS INT), length(CAST(id AS STRING)) FROM {orders} WHERE amount < 100
SELECT CAST(n AS BIGINT), CAST(n AS DOUBLE), try_cast(status AS BIGINT) AS t, CAST(big AS STRING) FROM {orders} WHERE id IN (4, 5, 6)
SELECT at, CAST(at AS DATE), date(at) AS d, to_date(at), year(at), month(at), day(at) AS dd, dayofweek(at), dayofyear(at), quarter(at) FROM {orders}
SELECT hour(at), minute(at), second(at), extract(YEAR FROM at) AS y FROM {orders}
SELECT date_trunc('hour', at), date_trunc('WEEK', at), date_trunc('month', at), date_trunc('day', _timestamp) FROM {orders}
SELECT unix_seconds(at), unix_millis(at), unix_micros(at), timestamp_seconds(id), timestamp_millis(id), timestamp_micros(id) FROM {orders}
SELECT at + INTERVAL 1 DAY AS a, at - INTERVAL '90' MINUTES AS b, DATE '2030-01-31' AS d, TIMESTAMP '2030-01-31 01:02:03' AS t FROM {orders}
SELECT id FROM {orders} WHERE at > '2030-01-31T12:30:15Z' OR at < DATE '2030-01-01' OR CAST(at AS DATE) = DATE '2030-01-31'
SELECT id FROM {orders} WHERE _timestamp >= '2023-11-14T22:13:25Z' AND _timestamp < now()
SELECT _offset, _partition FROM {orders} WHERE _offset >= 2 AND _offset < 5 AND _partition = 1
SELECT _partition, max(_offset), min(_timestamp) FROM {orders} GROUP BY _partition HAVING count(*) > 3 ORDER BY _partition
SELECT date_trunc('hour', at) AS h, count(*) FROM {orders} GROUP BY date_trunc('hour', at) ORDER BY h
SELECT upper(n) AS u, count(*) AS c FROM {orders} GROUP BY upper(n) HAVING c > 0 ORDER BY u
SELECT DISTINCT status, ok FROM {orders}
SELECT DISTINCT _partition FROM {orders} ORDER BY 1 DESC
SELECT o.id, p.name FROM {orders} o JOIN {people} p ON o.id = p.id
SELECT o.id, p.name FROM {orders} o LEFT JOIN {people} p ON o.id = p.id AND p.name <> 'Ada' WHERE o.id IS NOT NULL
SELECT p.id, o.status FROM {orders} o RIGHT OUTER JOIN {people} p ON o.id = p.id
SELECT o.id AS oid, p.id AS pid FROM {orders} AS o FULL OUTER JOIN {people} AS p ON o.id = p.id
SELECT count(*) FROM {people} a, {people} b WHERE a.id < b.id
SELECT p.* FROM {people} p CROSS JOIN (SELECT max(id) AS m FROM {orders}) AS top WHERE p.id < m
WITH big AS (SELECT id, amount FROM {orders} WHERE amount > 2), more AS (SELECT id FROM big) SELECT count(*) AS n, sum(b.amount) FROM big b JOIN more m ON b.id = m.id
SELECT id FROM {orders} WHERE id IN (SELECT id FROM {people}) AND amount < (SELECT max(amount) FROM {orders})
SELECT name FROM {people} WHERE EXISTS (SELECT 1 FROM {orders} WHERE id = 9) ORDER BY name
SELECT id FROM {orders} UNION SELECT id FROM {people} ORDER BY id DESC LIMIT 4
SELECT id FROM {orders} INTERSECT SELECT id FROM {people}
SELECT id FROM {people} EXCEPT SELECT id FROM {orders}
SELECT id, row_number() OVER (PARTITION BY status ORDER BY id) AS r, rank() OVER (ORDER BY status) AS k, dense_rank() OVER (ORDER BY ok DESC) AS d FROM {orders}
SELECT id, lag(id) OVER (ORDER BY id) AS l, lead(id, 2) OVER (ORDER BY id DESC) AS f, sum(id) OVER (PARTITION BY status ORDER BY id) AS s, count(*) OVER () AS c FROM {orders} WHERE id IS NOT NULL
SELECT status, count(*) FILTER (WHERE amount > 5) AS n FROM {orders} GROUP BY status
SELECT id AS status FROM {orders} ORDER BY status
SELECT status AS s FROM {orders} WHERE id > 0 ORDER BY id
SELECT s.n, s.status FROM (SELECT status, count(*) AS n FROM {orders} GROUP BY status) s WHERE s.n > 1
SELECT * FROM (SELECT id, count(1) OVER (PARTITION BY status) AS n FROM {orders}) ORDER BY id LIMIT 3 OFFSET 2
DESCRIBE {orders}
""".strip().splitlines()

LEFT_TO_SPARK = """
SELECT upper(status) FROM {orders}
SELECT explode(tags) AS tag FROM {orders}
SELECT id FROM {orders} o WHERE EXISTS (SELECT 1 FROM {people} p WHERE p.id = o.id)
SELECT id + 1 AS a, a + 1 AS b FROM {orders}
SELECT transform(tags, x -> concat(x, '!')) AS t FROM {orders}
SELECT CAST(amount AS STRING) FROM {orders}
SELECT id NOT IN (1, 2) FROM {orders}
SELECT status FROM {orders} WHERE status RLIKE '^p'
SELECT collect_list(id) FROM {orders}
SELECT s FROM {fractions}
SELECT s FROM {objects}
SELECT a FROM {arrays}
SELECT a FROM {quotes}
""".strip().splitlines()

BOTH_FAIL = """
SELECT id / 0 FROM {orders}
SELECT id % 0 FROM {orders}
SELECT tags[5] FROM {orders}
SELECT CAST(status AS BIGINT) FROM {orders} WHERE id = 1
""".strip().splitlines()


class Engines:
    def __init__(self, spark: SparkSession, bootstrap: str, names: dict[str, str]) -> None:
        self.names = names
        client = for_librdkafka(bootstrap, {})
        self._spark = TopicQuery(spark, spark_options=for_spark(bootstrap, {}), client_config=client)
        self.embedded = TopicSql(client, lambda: self._spark, engine=EngineChoice.EMBEDDED, sample=SAMPLE)
        self.auto = TopicSql(client, lambda: self._spark, engine=EngineChoice.AUTO, sample=SAMPLE)
        # The records stay in Spark, and its views stay for all queries of the list.
        counts = " UNION ALL ".join(f"SELECT count(*) FROM `{each}`" for each in names.values())
        self._spark.batch(counts, sample=SAMPLE)
        for each in names.values():
            self._spark._session.catalog.cacheTable(f"`{each}`")

    def text(self, query: str) -> str:
        return query.format(**{each: f"`{name}`" for each, name in self.names.items()})

    def spark(self, query: str) -> Answer:
        frame = self._spark._session.sql(self.text(query))
        kinds = [each.dataType.simpleString() for each in frame.schema.fields]
        return Answer(frame.columns, kinds, list(map(plain_row(frame.schema), frame.collect())), EngineChoice.SPARK)

    def close(self) -> None:
        self.embedded.close()
        self.auto.close()


@pytest.fixture(scope="module")
def engines(spark: SparkSession, broker: Broker) -> Iterator[Engines]:
    with Topics(broker.bootstrap, "conformance") as topics:
        names = {
            each: topics.create(each, partitions=2)
            for each in ("orders", "people", "others", "lines", "raw", "fractions", "objects", "arrays", "quotes")
        }
        for number, value in enumerate(ORDERS):
            raw = value if value is None or isinstance(value, bytes) else json.dumps(value, ensure_ascii=number % 2 == 0).encode()
            headers = {"trace": f"t{number}".encode()} if number % 3 == 0 else None
            topics.send_record(
                names["orders"],
                f"k{number}".encode() if number else None,
                raw,
                headers,
                partition=number % 2,
                timestamp=FIRST_MS + number * 1000,
            )
        topics.send(names["people"], [{"id": 1, "name": "Ada"}, {"id": 9, "name": "Bob"}, {"id": 99, "name": "Čapek"}], partition=0)
        topics.send(names["others"], [*OTHERS, *SHOWN], partition=0)
        topics.send(names["lines"], [b"one", b"two", None, b"", "žába?".encode(), b"{}x"], partition=1)
        topics.send_record(names["raw"], b"\xff\x00", b"\xfe\x00", {"h": b"1"}, partition=0, timestamp=FIRST_MS)
        topics.send(names["fractions"], [{"s": "x"}, {"s": 1.50}])
        topics.send(names["objects"], [{"s": "x"}, {"s": {"a": 1}}])
        topics.send(names["arrays"], [{"a": ["x"]}, {"a": [1.5]}, *[{"a": [1]}] * SAMPLE], partition=0)
        topics.send(names["quotes"], [{"a": 1}, b"{'a': 2}", {"a": 3}])
        made = Engines(spark, broker.bootstrap, names)
        yield made
        made.close()


def comparable(value: Any) -> Any:
    """NaN is equal to itself here. The last digits of a sum depend on the order of its records."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.14g}")
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [comparable(each) for each in value]
    return value


def rows(answer: Answer, *, sort: bool) -> list[str]:
    found = [repr(comparable(each)) for each in answer.rows]
    return sorted(found) if sort else found


@pytest.mark.parametrize("query", QUERIES)
def test_both_engines_give_the_same_answer(engines: Engines, query: str) -> None:
    spark = engines.spark(query)
    embedded = engines.embedded.answer(engines.text(query), None)
    assert embedded.engine is EngineChoice.EMBEDDED
    assert list(zip(embedded.columns, embedded.types, strict=True)) == list(zip(spark.columns, spark.types, strict=True))
    sort = "ORDER BY" not in query.rpartition(")")[2]
    assert rows(embedded, sort=sort) == rows(spark, sort=sort)


@pytest.mark.parametrize("query", LEFT_TO_SPARK)
def test_other_queries_are_left_to_spark(engines: Engines, query: str) -> None:
    with pytest.raises(CannotRun, match="The embedded engine cannot answer this query"):
        engines.embedded.answer(engines.text(query), None)


def test_auto_answers_with_spark_what_the_embedded_engine_cannot(engines: Engines) -> None:
    query = engines.text("SELECT upper(status) AS s FROM {orders} WHERE id = -8")
    found = engines.auto.answer(query, None)
    assert (list(found.rows), found.engine, found.reason) == ([("SPÄŤ 😀",)], EngineChoice.SPARK, "letters beyond ASCII")


@pytest.mark.parametrize("query", BOTH_FAIL)
def test_both_engines_fail_where_a_query_is_wrong(engines: Engines, query: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException):
        engines.spark(query)
    with pytest.raises(RunFailed, match="The query failed: "):
        list(engines.embedded.answer(engines.text(query), None).rows)
