"""Every mistake of a file is found in one reading, with its line, column and field."""

from __future__ import annotations

import pytest

from barnabas.pipelines.declaration.findings import Findings
from barnabas.pipelines.declaration.located import parse_yaml
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration, declare_pipeline
from barnabas.pipelines.errors import DeclarationError
from barnabas.pipelines.formats.avro import AvroSettings
from barnabas.pipelines.registered.settings import RegistryAddress

BAD = """\
name: a b
bootstrap: ${NOWHERE}
triger: soon
kafka: {security.protocol: [x]}
metrics: {port: 70000, hots: x}
sources:
  payments:
    topik: pay ments
    shema: account STRING
    rate: fast
    watermark: {colum: at, delay: 10}
  limits: {table: limits, key: x, format: jason}
  db: {jdbc: {url: "http://x", tabel: t, mode: incrementing}}
  both: {topic: a, table: b}
  limits: {topic: x}
  bare: {options: {a: b}}
  early: {topic: t, start: {offsets: 5}, format: {avro: {schema: "{"}}}
steps:
  - {view: rated, join: {stream: paymens, table: payments, on: account, how: outer}}
  - view: 7x
    slq: SELECT 1
  - {view: c, sql: SELECT * FROM limit JOIN d}
  - {view: d, python: nofunction, inputs: []}
sinks:
  out: {from: ratd, topic: a/b, guarantee: twice, formt: json}
  lake: {from: rated, lake: {format: parquet, merge_on: [a]}}
  none: {from: rated}
  text: hello
"""
FOUND = [
    (1, 1, "name", "the name 'a b' may only have letters"),
    (2, 12, "bootstrap", "the environment has no NOWHERE"),
    (3, 1, "triger", "did you mean 'trigger'?"),
    (4, 9, 'kafka["security.protocol"]', "is a text or a number, not a list"),
    (5, 11, "metrics.port", "at most 65535, not 70000"),
    (5, 24, "metrics.hots", "did you mean 'host'?"),
    (8, 5, "sources.payments.topik", "did you mean 'topic'?"),
    (8, 5, "sources.payments.topik", "names no topic: 'pay ments' has characters"),
    (9, 5, "sources.payments.shema", "did you mean 'schema'?"),
    (10, 5, "sources.payments.rate", "is a whole number of at least 1, not 'fast'"),
    (11, 17, "sources.payments.watermark.colum", "did you mean 'column'?"),
    (11, 28, "sources.payments.watermark.delay", "is a duration such as '10 seconds' or '1 hour', not 10"),
    (12, 27, "sources.limits.key", "is a column and its type"),
    (12, 35, "sources.limits.format", "did you mean 'json'?"),
    (13, 8, "sources.db.jdbc.incrementing", "lacks 'incrementing'"),
    (13, 15, "sources.db.jdbc.url", "begins with jdbc:postgresql:"),
    (13, 32, "sources.db.jdbc.tabel", "did you mean 'table'?"),
    (14, 3, "sources.both", "but it has topic and table"),
    (15, 3, "sources.limits", "is here twice; it was first given on line 12"),
    (16, 3, "sources.bare", "but it has none of these"),
    (17, 29, "sources.early.start.offsets", "maps partitions to offsets"),
    (17, 58, "sources.early.format.avro.schema", "is not JSON"),
    (19, 5, "steps[0]", "reads 'paymens', but there is no source or step of that name; did you mean 'payments'?"),
    (19, 5, "steps[0]", "which is not a source of the kind 'table'"),
    (19, 73, "steps[0].join.how", "is one of inner, left, not 'outer'"),
    (20, 5, "steps[1].view", "because SQL uses it"),
    (21, 5, "steps[1].slq", "did you mean 'sql'?"),
    (22, 5, "steps[2]", "reads 'limit', but there is no source or step of that name; did you mean 'limits'?"),
    (22, 5, "steps[2]", "reads 'd', which is only made below"),
    (23, 15, "steps[3].python", "is a function as module:name"),
    (23, 35, "steps[3].inputs", "is a list of texts, not an empty list"),
    (25, 9, "sinks.out.from", "did you mean 'rated'?"),
    (25, 21, "sinks.out.topic", "names no topic"),
    (25, 33, "sinks.out.guarantee", "is one of exactly_once, at_least_once, not 'twice'"),
    (25, 51, "sinks.out.formt", "did you mean 'format'?"),
    (26, 23, "sinks.lake.lake", "has either a 'path' or a 'table'"),
    (26, 47, "sinks.lake.lake.merge_on", "cannot merge into parquet"),
    (27, 3, "sinks.none", "but it has none of these"),
    (28, 3, "sinks.text", "is a mapping of names to values, not 'hello'"),
]


def mistakes(text: str) -> tuple[DeclarationError, ...]:
    findings = Findings()
    with pytest.raises(DeclarationError) as wrong:
        declare_pipeline(parse_yaml(text, "bad.yaml", {}, findings), findings)
    return wrong.value.all


def test_all_mistakes_of_a_file_are_reported_in_its_order() -> None:
    found = mistakes(BAD)
    assert [(each.line, each.column, each.field) for each in found] == [row[:3] for row in FOUND]
    for each, (*_, words) in zip(found, FOUND, strict=True):
        assert words in each.sentence


def test_a_run_names_the_first_mistake_and_the_number_of_others() -> None:
    with pytest.raises(
        DeclarationError, match=r"^bad.yaml:1: the pipeline has no sources.*`barnabas pipelines validate bad.yaml` shows 1 more"
    ):
        declare_pipeline(parse_yaml("name: a", "bad.yaml", {}))


def test_an_invalid_source_is_still_a_name_that_steps_may_read() -> None:
    text = "name: a\nsources: {s: {topic: t, rat: 1}}\nsteps: [{view: v, sql: SELECT 1 FROM s}]\nsinks: {o: {from: v, console: {}}}\n"
    assert [each.field for each in mistakes(text)] == ["sources.s.rat"]


def test_a_value_from_a_missing_variable_is_reported_once() -> None:
    text = "name: a\nsources: {s: {topic: t, rate: '${RATE}', start: '${START}'}}\nsinks: {o: {from: '${FROM}', topic: '${OUT}'}}\n"
    assert [each.field for each in mistakes(text)] == ["sources.s.rate", "sources.s.start", "sinks.o.from", "sinks.o.topic"]


def test_misspelt_sources_are_read_all_the_same() -> None:
    assert [each.sentence for each in mistakes("name: a\nsorces: {s: {topic: t, rat: 1}}\nsinks: {o: {from: s, console: {}}}\n")] == [
        "the pipeline has no field 'sorces'; did you mean 'sources'?",
        "source 's' has no field 'rat'; did you mean 'rate'?",
    ]


def declaration(text: str, **environment: str) -> PipelineDeclaration:
    findings = Findings()
    return declare_pipeline(parse_yaml(text, "shop.yaml", environment, findings), findings)


REGISTERED = """
name: shop
sources:
  plain: {topic: t, format: json_schema, schema: a INT}
  several:
    topics: [t, u]
    format:
      avro:
        registry: {url: ftp://x, login: me, retry: soon}
        register: true
        use: newest
        framing: none
sinks:
  out: {from: plain, topic: u, format: {protobuf: {schema: "message {"}}}
  other: {from: plain, topic: u, format: {avro: {use: latest}}}
"""


def test_mistakes_about_a_registry_name_their_lines() -> None:
    with pytest.raises(DeclarationError) as refused:
        declaration(REGISTERED)
    assert [(each.line, each.sentence.partition(":")[0].partition(";")[0]) for each in refused.value.all] == [
        (4, "the format 'json_schema' of source 'plain' needs a registry"),
        (4, "the columns of source 'plain' are those of the schema in the registry"),
        (7, "source 'several' has no single subject"),
        (9, "'url' of 'registry' of format 'avro' of source 'several' is an address such as http"),
        (9, "'login' of 'registry' of format 'avro' of source 'several' is a name and a password, as in name"),
        (9, "'retry' of 'registry' of format 'avro' of source 'several' is a duration such as '10 seconds' or '1 hour', not 'soon'."),
        (10, "source 'several' only reads, so it registers nothing."),
        (11, "'use' of format 'avro' of source 'several' is 'latest' or the number of a version, not 'newest'."),
        (12, "format 'avro' of source 'several' has a registry, which knows the schema of each record"),
        (14, "the format 'protobuf' of sink 'out' needs a registry"),
        (14, "the schema of format 'protobuf' of sink 'out' is not valid"),
        (15, "the format 'avro' of sink 'other' needs a registry"),
    ]


def test_the_registry_of_a_pipeline_counts_for_formats_without_their_own() -> None:
    declared = declaration(
        """
name: shop
registry: {url: "http://r:1", login: "me:${PASSWORD}"}
sources:
  avro: {topic: t, format: avro}
  unframed: {topic: t, format: {avro: {framing: none}}}
  own: {topic: t, format: {protobuf: {registry: "http://own:2"}}}
sinks:
  out: {from: avro, topic: u, format: json_schema}
""",
        PASSWORD="secret",
    )
    formats = {each.name: each.decoding.format.settings for each in declared.sources if each.decoding is not None}
    assert getattr(formats["avro"], "registry", None) == RegistryAddress("http://r:1", login="me:secret")
    assert isinstance(formats["unframed"], AvroSettings)
    assert getattr(formats["own"], "registry", None) == RegistryAddress("http://own:2")
    assert "secret" not in repr(declared)
