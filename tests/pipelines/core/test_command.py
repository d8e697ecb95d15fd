"""``barnabas pipelines`` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Cli
from tests.pipelines.core.running import write
from tests.pipelines.exactly_once.pipeline_process import await_ends, descendants
from tests.pipelines.topics import Topics
from tests.waiting import LONG_PATIENCE_SECONDS

barnabas = Cli()
FILE = """\
name: {name}
bootstrap: {bootstrap}
spark: {{spark.driver.memory: 1g, spark.sql.shuffle.partitions: 2}}
sources:
  numbers: {{topic: {numbers}, schema: n INT}}
steps:
  - {{view: even, sql: SELECT n FROM numbers WHERE n % 2 = 0}}
sinks:
  out: {{from: even, topic: {out}, guarantee: {guarantee}}}
"""


def pipeline_file(folder: Path, topics: Topics, name: str, guarantee: str = "exactly_once") -> Path:
    numbers, out = topics.create("numbers"), topics.create("out")
    topics.send(numbers, [{"n": n} for n in range(10)])
    return write(folder, FILE.format(name=name, bootstrap=topics.bootstrap, numbers=numbers, out=out, guarantee=guarantee))


def test_files_are_checked_without_spark(tmp_path: Path) -> None:
    good = write(tmp_path, FILE.format(name="p", bootstrap="b", numbers="n", out="o", guarantee="exactly_once"), "good.yaml")
    bad = write(tmp_path, good.read_text().replace("from: even", "from: evn"), "bad.yaml")
    assert barnabas("pipelines", "validate", str(good)).text == f"{good}: pipeline 'p' is valid: 1 source, 1 step, 1 sink.\n"
    both = barnabas("pipelines", "validate", str(bad), str(good))
    assert both.code == 1
    assert both.err.splitlines() == [
        f"{bad}:9:9: sinks.out.from: sink 'out' reads 'evn', but there is no source or step of that name; did you mean 'even'?",
        "barnabas: 1 of 2 files is invalid: 1 mistake.",
    ]
    assert "is valid" in both.out.decode(), "an invalid file does not hide a valid one"
    (row,) = barnabas("pipelines", "list", str(good), "--json").json
    assert (row["name"], row["sources"], row["steps"], row["sinks"]) == ("p", ["numbers"], ["even"], ["out"])
    assert barnabas("pipelines", "packages", str(good)).text == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0\n"
    assert Path(barnabas("pipelines", "submit-script").text.strip()).is_file()


def test_folders_are_checked_and_mistakes_are_json_for_programs(tmp_path: Path) -> None:
    text = FILE.format(name="p", bootstrap="b", numbers="n", out="o", guarantee="exactly_once")
    (tmp_path / "below").mkdir()
    write(tmp_path, text, "b.yaml")
    write(tmp_path / "below", text.replace("topic: n", "topik: n").replace("guarantee", "garantee"), "a.yml")
    write(tmp_path, "not a pipeline", "notes.txt")
    finished = barnabas("pipelines", "validate", str(tmp_path), str(tmp_path / "b.yaml"), "--json")
    assert (finished.code, finished.err) == (1, "")
    good, bad = json.loads(finished.out)
    assert (good["file"], good["valid"], good["pipeline"], good["mistakes"]) == (f"{tmp_path}/b.yaml", True, "p", [])
    assert (bad["file"], bad["valid"], bad["sinks"]) == (f"{tmp_path}/below/a.yml", False, [])
    assert [(each["line"], each["column"], each["field"]) for each in bad["mistakes"]] == [
        (5, 13, "sources.numbers.topik"),
        (9, len("  out: {from: even, topic: o, ") + 1, "sinks.out.garantee"),
    ]
    assert bad["mistakes"][0]["message"] == "source 'numbers' has no field 'topik'; did you mean 'topic'?"
    (tmp_path / "empty").mkdir()
    assert barnabas("pipelines", "validate", str(tmp_path / "empty")).complaint == f"The folder {tmp_path}/empty has no YAML file."


def test_a_run_of_an_invalid_file_names_the_first_mistake_and_where_all_are(tmp_path: Path) -> None:
    file = write(tmp_path, "name: p\nsources: {t: {generator: {}, x: 1}}\nsinks: {o: {from: t, consle: {}}}\n")
    complaint = barnabas("pipelines", "run", str(file)).complaint
    assert complaint.startswith(f"{file}:2: source 't' has no field 'x'")
    assert complaint.endswith(f"`barnabas pipelines validate {file}` shows 1 more mistake.")


def test_missing_pyspark_or_java_is_reported_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "name: p\nsources: {t: {generator: {}}}\nsinks: {o: {from: t, console: {}}}\n")
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        without.delenv("JAVA_HOME", raising=False)
        assert barnabas("pipelines", "run", str(file)).complaint.startswith(
            "Spark needs Java 17 or later, but there is no java on the PATH"
        )
        without.setenv("JAVA_HOME", str(tmp_path / "gone"))
        assert f"there is no java in JAVA_HOME ({tmp_path / 'gone'}): install a JRE." in barnabas("pipelines", "run", str(file)).complaint
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    complaint = barnabas("pipelines", "run", str(file)).complaint
    assert complaint.endswith("pyspark and pandas and pyarrow are not installed: pip install 'barnabas[spark]'.")


def test_neither_the_package_nor_the_commands_need_pyspark() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None; import barnabas.pipelines, barnabas.cli.pipelines.command; barnabas.pipelines.Pipeline"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=LONG_PATIENCE_SECONDS)


def test_a_missing_topic_is_reported_before_spark_starts(tmp_path: Path, topics: Topics) -> None:
    file = write(tmp_path, FILE.format(name="p", bootstrap=topics.bootstrap, numbers="nowhere", out="o", guarantee="exactly_once"))
    assert barnabas("pipelines", "run", str(file)).complaint.startswith(f"{file}:5: there is no topic 'nowhere' at {topics.bootstrap};")


def test_a_run_reports_to_stdout_and_a_topic_and_ends_cleanly_on_a_signal(tmp_path: Path, topics: Topics) -> None:
    file, checkpoint = pipeline_file(tmp_path, topics, "told"), str(tmp_path / "checkpoints")
    assert [each["state"] for each in barnabas("pipelines", "status", str(file), "--checkpoint", checkpoint, "--json").json] == [
        "never ran"
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "barnabas", "pipelines", "run", str(file), "--checkpoint", checkpoint, "--master", "local[1]"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    )
    try:
        assert running.stdout is not None
        line: dict[str, Any] = json.loads(running.stdout.readline() or "{}")
        assert (line.get("pipeline"), line.get("query"), line.get("input_rows")) == ("told", "out", 10), running.communicate()
        assert sorted(each["n"] for each in topics.values(topics.name("out"))) == [0, 2, 4, 6, 8]
        (status,) = barnabas("pipelines", "status", str(file), "--checkpoint", checkpoint, "--json").json
        assert (status["state"], status["batch"], status["lag"]) == ("running", 0, 0)
        below = descendants(running.pid)
        # As `timeout` does: the process, and then its group, which includes Spark's JVM.
        running.send_signal(signal.SIGTERM)
        os.killpg(running.pid, signal.SIGTERM)
        _, errors = running.communicate(timeout=LONG_PATIENCE_SECONDS)
    finally:
        running.kill()
    assert (running.returncode, errors) == (0, "")
    assert below, "there was a JVM"
    await_ends(below, LONG_PATIENCE_SECONDS)
    (status,) = barnabas("pipelines", "status", str(file), "--checkpoint", checkpoint, "--json").json
    assert (status["state"], status["batch"], status["reason"]) == ("ended", 0, None)
    events = [each.json["event"] for each in topics.read("barnabas.pipelines.progress") if each.key == b"told.out"]
    assert events[0] == "progress"
    assert events[-1] == "ended"


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_spark_submit_runs_the_same_file_on_a_cluster(tmp_path: Path, topics: Topics) -> None:
    from tests.pipelines.core.standalone import StandaloneCluster

    file, checkpoint = pipeline_file(tmp_path, topics, "submitted"), tmp_path / "checkpoints"
    packages, script = (barnabas("pipelines", *words).text.strip() for words in (("packages", str(file)), ("submit-script",)))
    with StandaloneCluster(tmp_path) as cluster:
        settings = {"spark.executor.memory": "600m", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
        settings |= {f"spark.{each}.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" for each in ("driver", "executor")}
        command = [str(cluster.home / "bin" / "spark-submit"), "--master", cluster.master, "--packages", packages]
        command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        command += [script, str(file), "--available-now", "--checkpoint", str(checkpoint)]
        done = subprocess.run(command, cwd=tmp_path, env=cluster.environment, capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert sorted(each["n"] for each in topics.values(topics.name("out"))) == [0, 2, 4, 6, 8]
    assert (checkpoint / "submitted/out/commits/0").is_file()
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert sum(each["input_rows"] for each in reports) == 10


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_changed_table_stops_a_run_until_its_columns_are_accepted(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        f"""\
        name: shop
        sources:
          orders:
            jdbc: {{url: "jdbc:sqlite:{tmp_path}/shop.db", table: orders, mode: incrementing, incrementing: id}}
        sinks:
          out: {{from: orders, files: {{path: out, format: json}}}}
        """,
    )

    def execute(*statements: str) -> None:
        connection = sqlite3.connect(tmp_path / "shop.db")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "barnabas", "pipelines", *words]
        return subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS, check=False)

    def written() -> list[str]:
        return sorted(line for each in (tmp_path / "out").glob("*.json") for line in each.read_text().splitlines())

    execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, qty INTEGER)", "INSERT INTO orders VALUES (1, 5)")
    assert command("run", str(file), "--available-now").returncode == 0
    execute("ALTER TABLE orders RENAME COLUMN qty TO quantity", "INSERT INTO orders VALUES (2, 7)")
    stopped = command("run", str(file), "--available-now")
    assert stopped.returncode == 1
    assert stopped.stderr == (
        f"barnabas: {file}:3: source 'orders': table orders changed: 'qty' (bigint) is missing, 'quantity' (bigint) is new; "
        f"`barnabas pipelines accept-schema {file}` accepts the change, and the pipeline continues where it stopped.\n"
    )
    assert written() == ['{"id":1,"qty":5}']
    taken_over = command("accept-schema", str(file))
    assert (taken_over.returncode, taken_over.stdout) == (0, "shop.orders: changed\n  removed  qty bigint\n  added    quantity bigint\n")
    assert command("run", str(file), "--available-now").returncode == 0
    assert written() == ['{"id":1,"qty":5}', '{"id":2,"quantity":7}']
