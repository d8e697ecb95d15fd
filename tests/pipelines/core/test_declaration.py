"""Invalid files: the place and the expected value. None of this needs Spark."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from barnabas.pipelines import DeclarationError, Pipeline
from barnabas.pipelines.declaration.located import parse_yaml, plain
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration, Trigger, declare_pipeline
from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.declaration.source_declarations import KeyColumn, Watermark
from barnabas.pipelines.sources.generator import GeneratorSettings
from barnabas.pipelines.sources.topic import TopicSettings
from barnabas.pipelines.steps.sql import tables

GOOD = """\
name: alerts
bootstrap: ${BOOTSTRAP:-127.0.0.1:9092}
kafka: {security.protocol: PLAINTEXT}
trigger: 2 seconds
sources:
  payments:
    topic: payments
    schema: account STRING, amount DOUBLE, at TIMESTAMP
    key: account STRING
    rate: ${RATE:-10000}
    watermark: {column: at, delay: 10 seconds}
steps:
  - {view: large, sql: "SELECT * FROM payments WHERE amount > 100"}
  - view: once
    deduplicate: {from: large, keys: [account], within: 1 hour}
sinks:
  out: {from: once, topic: alerts, key: account}
"""


def declare(text: str, **environment: str) -> PipelineDeclaration:
    return declare_pipeline(parse_yaml(text, "alerts.yaml", environment))


def complaint(text: str, **environment: str) -> str:
    with pytest.raises(DeclarationError) as wrong:
        declare(dedent(text), **environment)
    return str(wrong.value)


def changed(line: int, text: str) -> str:
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def test_a_valid_file_becomes_its_declaration() -> None:
    declared = declare(GOOD, RATE="7")
    (payments,) = declared.sources
    assert (declared.name, declared.bootstrap, declared.trigger) == ("alerts", "127.0.0.1:9092", Trigger(interval_ms=2000))
    assert payments.watermark == Watermark("at", "10000 milliseconds")
    assert isinstance(payments.settings, TopicSettings)
    assert payments.settings.rate == 7, "what the environment says is a number where a number stands"
    assert payments.decoding is not None
    assert payments.decoding.key == KeyColumn("account", "STRING")
    assert [step.inputs for step in declared.steps] == [("payments",), ("large",)]


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        (1, "nam: alerts", "alerts.yaml:1: the pipeline has no field 'nam'; did you mean 'name'?"),
        (1, "# no name", "alerts.yaml:2: the pipeline lacks 'name': a text."),
        (1, "name: a b", "alerts.yaml:1: the name 'a b' may only have letters"),
        (2, "boostrap: x", "alerts.yaml:2: the pipeline has no field 'boostrap'; did you mean 'bootstrap'?"),
        (2, "bootstrap: ${NOWHERE}", "alerts.yaml:2: the environment has no NOWHERE; set it, or give a default as in ${NOWHERE:-default}."),
        (3, "kafka: [1]", "alerts.yaml:3: 'kafka' of the pipeline is a mapping of names to values, not a list."),
        (3, "trigger: 1 second", "alerts.yaml:4: 'trigger' is here twice; it was first given on line 3."),
        (4, "trigger: soon", "alerts.yaml:4: 'trigger' (a duration, available_now or continuous) is a duration such as '10 seconds'"),
        (7, "    topik: payments", "alerts.yaml:7: source 'payments' has no field 'topik'; did you mean 'topic'?"),
        (7, "    topic: pay ments", "alerts.yaml:7: 'topic' of source 'payments' names no topic: 'pay ments' has characters other than"),
        (7, "    topics: [a, ..]", "alerts.yaml:7: 'topics' of source 'payments' names no topic: '..' is not a topic name."),
        (7, "    topic: ''", "alerts.yaml:7: 'topic' of source 'payments' is a text, not ''."),
        (
            9,
            "    key: account",
            "alerts.yaml:9: 'key' of source 'payments' is a column and its type such as 'account STRING', not 'account'.",
        ),
        (10, "    rate: fast", "alerts.yaml:10: 'rate' of source 'payments' is a whole number of at least 1, not 'fast'."),
        (10, "    start: {offsets: 5}", "alerts.yaml:10: 'offsets' of source 'payments' maps partitions to offsets"),
        (10, "    start: {timestamp: soon}", "alerts.yaml:10: 'timestamp' of source 'payments' is milliseconds since 1970"),
        (10, "    format: jason", "alerts.yaml:10: source 'payments' has the format 'jason', which is none of json,"),
        (10, "    format: {json: {x: 1}}", "alerts.yaml:10: format 'json' of source 'payments' has no field 'x'."),
        (10, "    tolerance: some", "alerts.yaml:10: 'tolerance' of source 'payments' is one of none, all, not 'some'."),
        (10, "    schema_changes: ask", "alerts.yaml:10: 'schema_changes' of source 'payments' is one of stop, accept, not 'ask'."),
        (11, "    watermark: {colum: at}", "alerts.yaml:11: 'watermark' of source 'payments' has no field 'colum'; did you mean 'column'?"),
        (11, "    watermark: {}", "alerts.yaml:11: 'watermark' of source 'payments' lacks 'column': a text."),
        (11, "    watermark: {column: at, delay: 10}", "alerts.yaml:11: 'delay' of 'watermark' of source 'payments' is a duration"),
        (13, '  - {view: a-b, sql: "SELECT 1"}', "alerts.yaml:13: step 'a-b': a name has letters, digits and underscores"),
        (13, "  - {view: large, slq: SELECT 1}", "alerts.yaml:13: step 'large' has no field 'slq'; did you mean 'sql'?"),
        (13, "  - {view: large}", "alerts.yaml:13: step 'large' is one of sql,"),
        (13, "  - {view: large, sql: SELECT * FROM payment}", "alerts.yaml:13: step 'large' reads 'payment', but there is no"),
        (13, "  - {view: large, sql: SELECT * FROM once}", "alerts.yaml:13: step 'large' reads 'once', which is only made below."),
        (13, "  - {view: payments, sql: SELECT 1}", "alerts.yaml:13: there is already a source or step called 'payments', on line 6."),
        (
            17,
            "  out: {from: onec, topic: t}",
            "alerts.yaml:17: sink 'out' reads 'onec', but there is no source or step of that name; did you mean 'once'?",
        ),
        (
            17,
            "  out: {from: once, topic: t, guarantee: twice}",
            "alerts.yaml:17: 'guarantee' of sink 'out' is one of exactly_once, at_least_once",
        ),
        (17, "  out: {from: once, topic: a/b}", "alerts.yaml:17: 'topic' of sink 'out' names no topic: 'a/b' has characters other than"),
        (
            17,
            "  out: {from: once, topic: t, console: {}}",
            "alerts.yaml:17: sink 'out' writes to one of topic, jdbc, lake, files, console, but it has topic and console.",
        ),
        (17, "  out: {from: once, consol: {}}", "alerts.yaml:17: sink 'out' has no field 'consol'; did you mean 'console'?"),
        (17, "  out: {from: once}", "alerts.yaml:17: sink 'out' writes to one of topic,"),
        (17, "  out: {from: once, topic: t", "alerts.yaml:18: this is not YAML"),
        (17, "  out: text", "alerts.yaml:17: sink 'out' is a mapping of names to values, not 'text'."),
    ],
)
def test_an_error_in_a_file_is_reported_with_its_line(line: int, text: str, expected: str) -> None:
    assert complaint(changed(line, text)).startswith(expected)


def test_a_misspelt_name_gets_a_suggestion() -> None:
    assert complaint(changed(17, "  out: {from: onec, topic: t}")).endswith("; did you mean 'once'?")


def test_a_pipeline_needs_a_source_and_a_sink() -> None:
    assert complaint("name: a").startswith("alerts.yaml:1: the pipeline has no sources, so there is nothing to read.")
    assert complaint("name: a\nsources: {t: {generator: {}}}") == "alerts.yaml:1: the pipeline has no sinks, so nothing would be written."
    assert complaint("") == "alerts.yaml:1: the file is empty; a pipeline has a name, sources and sinks."


def test_dead_letters_need_tolerance() -> None:
    text = changed(10, "    dead_letters: {topic: dlq}\n    tolerance: none")
    assert "so nothing would reach its dead letters" in complaint(text)


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"missing.yaml:1: the file cannot be read: No such file"):
        read_pipeline(str(tmp_path / "missing.yaml"))
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DeclarationError, match="not text in UTF-8"):
        read_pipeline(str(tmp_path / "binary.yaml"))


def test_environment_variables_are_substituted() -> None:
    text = "a: '${X}'\nb: ${N}\nc: ${NONE:-}\nd: $$HOME\ne: '${EMPTY:-else}'\nf: '${N}'\ng: a${N}b\n"
    found = plain(parse_yaml(text, "f", {"X": "x: y", "N": "5", "EMPTY": ""}))
    assert found == {"a": "x: y", "b": 5, "c": None, "d": "$HOME", "e": "else", "f": "5", "g": "a5b"}


def test_a_number_may_be_quoted_because_braces_need_quotes() -> None:
    (source,) = declare(changed(10, "    rate: '${RATE}'"), RATE="12").sources
    assert isinstance(source.settings, TopicSettings)
    assert source.settings.rate == 12


@pytest.mark.parametrize(
    ("start", "options"),
    [
        ("earliest", {"startingOffsets": "earliest"}),
        ("latest", {"startingOffsets": "latest"}),
        ("{timestamp: 1000}", {"startingTimestamp": "1000", "startingOffsetsByTimestampStrategy": "latest"}),
        ("{timestamp: 1970-01-01T00:00:02Z}", {"startingTimestamp": "2000", "startingOffsetsByTimestampStrategy": "latest"}),
        ("{offsets: {0: 5, 1: latest}}", {"startingOffsets": '{"payments": {"0": 5, "1": -1}}'}),
        ("{offsets: {payments: {0: earliest}}}", {"startingOffsets": '{"payments": {"0": -2}}'}),
    ],
)
def test_the_start_of_a_topic_is_parsed(start: str, options: dict[str, str]) -> None:
    (source,) = declare(changed(10, f"    start: {start}")).sources
    assert isinstance(source.settings, TopicSettings)
    assert source.settings.start == options


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM a JOIN b ON a.x = b.x LEFT JOIN `c` USING (x)", ("a", "b", "c")),
        ("WITH recent AS (SELECT * FROM a), more AS (SELECT * FROM recent) SELECT * FROM more", ("a",)),
        ("SELECT extract(day FROM at), trim(BOTH 'x' FROM y) FROM a -- FROM nowhere", ("a",)),
        ("SELECT ' FROM x ' FROM a /* JOIN b */", ("a",)),
        ("SELECT * FROM explode(array(1)) JOIN catalog.t JOIN a", ("a",)),
        ("SELECT * FROM (SELECT * FROM a)", ("a",)),
        ("SELECT * FROM a WHERE x IS NOT DISTINCT FROM y", ("a",)),
        ("SELECT 1", ()),
    ],
)
def test_the_inputs_of_a_query_are_found(query: str, expected: tuple[str, ...]) -> None:
    assert tables(query) == expected


def test_errors_in_code_name_the_line_of_the_call() -> None:
    pipeline = Pipeline("p").source("t", generator={})
    pipeline.sink("out", from_="tt", console={})
    with pytest.raises(DeclarationError) as wrong:
        pipeline.declaration()
    assert Path(wrong.value.path).name == "test_declaration.py"
    assert "sink 'out' reads 'tt'" in wrong.value.sentence


def test_models_are_wired_by_their_parameters() -> None:
    pipeline = Pipeline("p").source("ticks", generator={"rows_per_second": 5})

    @pipeline.model
    def evens(ticks: object) -> object:
        return ticks

    declared = pipeline.sink("out", from_="evens", console={}).declaration()
    assert [(step.view, step.kind, step.inputs) for step in declared.steps] == [("evens", "python", ("ticks",))]
    assert isinstance(declared.sources[0].settings, GeneratorSettings)
    assert declared.sources[0].settings.rows_per_second == 5


def test_a_python_file_is_a_pipeline(tmp_path: Path) -> None:
    good = 'from barnabas.pipelines import Pipeline\np = Pipeline("p").source("t", generator={}).sink("o", from_="t", console={})\n'
    (tmp_path / "good.py").write_text(good)
    assert read_pipeline(str(tmp_path / "good.py")).name == "p"
    for name, text, expected in (
        ("none.py", "x = 1\n", ":1: a pipeline's file has one Pipeline at its top level, but this one has none."),
        ("syntax.py", "x = 1\nx = (\n", ":2: this is not Python"),
        ("raises.py", "x = 1\ny = 1 / 0\n", ":2: ZeroDivisionError: division by zero."),
        ("wrong.py", good.replace('from_="t"', 'from_="u"'), ":2: sink 'o' reads 'u'"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(DeclarationError) as wrong:
            read_pipeline(str(tmp_path / name))
        assert expected in str(wrong.value)


JOINED = """\
name: alerts
sources:
  payments: {topic: payments, schema: account STRING}
  limits: {table: limits, key: account STRING, schema: most INT}
steps:
  - {view: rated, sql: "SELECT p.account, l.most FROM payments p JOIN limits l ON p.account = l.account"}
  - {view: large, sql: "SELECT * FROM rated WHERE most > 1"}
sinks:
  shown: {from: large, console: {}}
  out: {from: large, topic: alerts, guarantee: exactly_once}
"""


def test_a_table_in_sql_cannot_reach_an_exactly_once_sink() -> None:
    assert complaint(JOINED).startswith(
        "alerts.yaml:6: step 'rated' reads the table 'limits' as it is at that moment, which may differ when a batch runs again, "
        "and sink 'out' (line 10) writes exactly once; use a step with 'join', or give the sink guarantee: at_least_once."
    )
    declare(JOINED.replace("exactly_once", "at_least_once"))
    declare(
        JOINED.replace(
            'sql: "SELECT p.account, l.most FROM payments p JOIN limits l ON p.account = l.account"',
            "join: {stream: payments, table: limits, on: account}",
        )
    )
