"""The load generators: C and Java sources in this folder, compiled into ``.bench/`` on demand.

Each prints one line of JSON, or writes a sentence to stderr and exits with a code other than 0.
On a machine without a compiler the report names the rows that were skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import confluent_kafka

from bench.measurement import MeasurementFailed
from bench.systems import JVM_OPTIONS
from peers import apache_kafka

SOURCES = Path(__file__).resolve().parent
BUILT = SOURCES.parent / ".bench"
RUN_SECONDS_MAX = 120.0
# The options that bin/kafka-producer-perf-test.sh and similar scripts add for the JVM.
_CLIENT_JVM_OPTIONS = ["-Xmx512M", *JVM_OPTIONS]


# -- missing programs ------------------------------------------------------------------------------


@cache
def compiler() -> str | None:
    return next((name for name in (os.environ.get("CC"), "cc", "gcc", "clang") if name and shutil.which(name)), None)


@cache
def librdkafka() -> Path | None:
    """The library in confluent-kafka's wheel, so that every machine has the same client and
    version."""
    bundled = Path(confluent_kafka.__file__).resolve().parent.parent / "confluent_kafka.libs"
    return next(iter(sorted(bundled.glob("librdkafka*.so*"))), None)


def why_no_closed_loop() -> str | None:
    return None if compiler() else "no C compiler on this machine"


def why_no_librdkafka_load() -> str | None:
    return why_no_closed_loop() or (None if librdkafka() else "confluent-kafka was installed without a librdkafka of its own")


def why_no_handshakes() -> str | None:
    return None if shutil.which("openssl") else "openssl is not installed"


def why_no_java_producer() -> str | None:
    return apache_kafka.why_missing()


def why_no_java_programs() -> str | None:
    """The programs in this folder; Apache Kafka's own are compiled already."""
    return apache_kafka.why_missing() or (None if shutil.which("javac") else "no Java compiler on this machine")


# -- running ---------------------------------------------------------------------------------------


def closed_loop(
    *, port: int, topic: str, connections: int, partitions: int, seconds: float, records: int = 1, value_bytes: int = 100, acks: int = -1
) -> dict[str, float]:
    return _run_closed_loop(
        {
            "port": port,
            "topic": topic,
            "connections": connections,
            "partitions": partitions,
            "seconds": seconds,
            "records": records,
            "value-bytes": value_bytes,
            "acks": acks,
        }
    )


def commit_loop(*, port: int, group: str, topic: str, connections: int, partitions: int, seconds: float) -> dict[str, float]:
    return _run_closed_loop(
        {"port": port, "group": group, "topic": topic, "connections": connections, "partitions": partitions, "seconds": seconds}
    )


def fetch_loop(
    *, port: int, topic: str, fetched_offsets: int, sessions: bool, connections: int, partitions: int, seconds: float
) -> dict[str, float]:
    return _run_closed_loop(
        {
            "port": port,
            "topic": topic,
            "fetch": fetched_offsets,
            "sessions": int(sessions),
            "connections": connections,
            "partitions": partitions,
            "seconds": seconds,
        }
    )


def _run_closed_loop(options: Mapping[str, str | int | float]) -> dict[str, float]:
    return run_json([str(_closed_loop()), *(f"--{name}={value}" for name, value in options.items())])


def librdkafka_load(
    command: str,
    *,
    bootstrap: str,
    topic: str,
    partitions: int,
    value_bytes: int,
    records: int,
    codec: str = "none",
    properties: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """``command`` is produce, consume, latency or transactions; ``properties`` override its own."""
    further = [f"{name}={value}" for name, value in (properties or {}).items()]
    counts = [str(partitions), str(value_bytes), str(records)]
    return run_json([str(_librdkafka_load()), command, bootstrap, topic, *counts, codec, *further])


def handshakes(*, port: int, seconds: int) -> float:
    """New TLS connections a second, one after the other, by ``openssl s_time``."""
    words = ["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-time", str(seconds)]
    printed = _run(words)
    # "1234 connections in 2 real seconds, ..." and before it the same by user time.
    found = re.search(r"(\d+) connections in (\d+) real seconds", printed)
    if found is None:
        raise MeasurementFailed(f"openssl s_time printed {printed[-200:]!r}")
    return int(found[1]) / int(found[2])


def java_producer(*, bootstrap: str, topic: str, value_bytes: int, records: int, warm_up_records: int) -> str:
    """The output of ProducerPerformance. Its line about the steady state leaves out the first
    ``warm_up_records`` of ``records``."""
    return _run(
        apache_kafka.java(
            "org.apache.kafka.tools.ProducerPerformance",
            *("--bootstrap-server", bootstrap, "--topic", topic, "--throughput", "-1"),
            *("--num-records", str(records), "--record-size", str(value_bytes), "--warmup-records", str(warm_up_records)),
            options=_CLIENT_JVM_OPTIONS,
        )
    )


def java_consumer(*, bootstrap: str, topic: str, partitions: int, records: int) -> dict[str, float]:
    return _run_java("AssignedConsumer", bootstrap, topic, str(partitions), str(records))


def share_consumers(client: str, *, bootstrap: str, topic: str, group: str, consumers: int, mode: str, records: int) -> dict[str, float]:
    arguments = (bootstrap, topic, group, str(consumers), mode, str(records))
    if client == "Java":
        return _run_java("ShareConsumers", *arguments)
    return run_json([sys.executable, "-m", "bench.share_consumers", *arguments])


def java_transactions(*, bootstrap: str, topic: str, value_bytes: int, transactions: int, warm_up_transactions: int) -> dict[str, float]:
    return _run_java("TransactionLoop", bootstrap, topic, str(value_bytes), str(transactions), str(warm_up_transactions))


def _run_java(name: str, *arguments: str) -> dict[str, float]:
    """A program of this folder."""
    classes = _compile_java(f"{name}.java")
    command = apache_kafka.java(name, *arguments, options=_CLIENT_JVM_OPTIONS)
    class_path = command.index("-cp") + 1
    command[class_path] += f"{os.pathsep}{classes}"
    return run_json(command)


def run_json(command: Sequence[str]) -> dict[str, float]:
    printed = _run(command)
    try:
        return {name: float(value) for name, value in json.loads(printed).items()}
    except (ValueError, AttributeError) as error:
        raise MeasurementFailed(f"{Path(command[0]).name} printed {printed[:200]!r}") from error


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired as late:
        raise MeasurementFailed(f"{Path(command[0]).name} did not end within {RUN_SECONDS_MAX:g} s") from late
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise MeasurementFailed(f"{Path(command[0]).name} exited {done.returncode}: {said[-1] if said else 'without a word'}")
    return done.stdout


# -- compiling -------------------------------------------------------------------------------------


@cache
def _closed_loop() -> Path:
    return _compile_c("closed_loop.c", [])


@cache
def _librdkafka_load() -> Path:
    library = librdkafka()
    assert library is not None, "rows ask why_no_librdkafka_load first"
    # The libraries that librdkafka needs are beside it, and the loader finds them.
    return _compile_c("librdkafka_load.c", [str(library), f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"])


@cache
def _compile_java(source: str) -> Path:
    target = _built_directory() / "classes"
    _compile(["javac", "-cp", f"{apache_kafka.JARS}/*", "-d", str(target), str(SOURCES / source)])
    return target


def _compile_c(source: str, libraries: list[str]) -> Path:
    command = compiler()
    assert command is not None, "rows ask why_no_closed_loop first"
    target = _built_directory() / source.removesuffix(".c")
    _compile([command, "-O2", "-Wall", "-Wextra", "-o", str(target), str(SOURCES / source), *libraries])
    return target


def _compile(command: list[str]) -> None:
    """Compiles in every run: it takes less than a second, and a stale binary would be worse."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MeasurementFailed(f"{Path(command[0]).name} failed: {done.stderr.strip()[:500]}")


def _built_directory() -> Path:
    BUILT.mkdir(exist_ok=True)
    (BUILT / ".gitignore").write_text("*\n")
    return BUILT
