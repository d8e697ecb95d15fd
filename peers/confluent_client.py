"""Confluent's Java client of a schema registry, and its Avro serializers.

They come with a Kafka client of their own, so they have a class path of their own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from peers.jvm import JARS, QUICK, compiled

CONFLUENT_JARS = JARS.parent / "confluent"


def why_confluent_is_missing() -> str | None:
    if shutil.which("java") is None:
        return "no java on this machine"
    if not list(CONFLUENT_JARS.glob("*.jar")):
        return "no jar with Confluent's Java client: run `make confluent-jar`"
    return None


def confluent_program(source: Path, *arguments: str) -> list[str]:
    """The command that runs a single-file program with Confluent's client on its class path."""
    classes = compiled(source, CONFLUENT_JARS)
    return ["java", "-Xmx256m", *QUICK, "-cp", f"{CONFLUENT_JARS}/*:{classes}", source.stem, *arguments]
