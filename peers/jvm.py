"""Java programs with Kafka on their class path, started as cheaply as a JVM allows.

Tests start hundreds of JVMs that live for seconds. :func:`java` gives them the quick compiler, the
simple garbage collector and an archive of Kafka's classes; a caller with ``options`` of its own, as
the benchmarks have, gets none of that. :func:`java_program` compiles a single-file program once for
all processes and runs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from peers.class_archive import class_archive

ROOT = Path(__file__).resolve().parent.parent
# Resolved, because an archive of classes fits only the class path that it was made with.
JARS = Path(os.environ.get("KAFKA_JARS", ROOT / ".kafka" / "lib")).resolve()

# The second compiler and parallel collectors cost a short-lived process more than they save.
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
_LOG_LEVEL = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


def why_missing() -> str | None:
    if shutil.which("java") is None:
        return "no java on this machine"
    if not list(JARS.glob("kafka-clients-*.jar")):
        return f"no Kafka jars in {JARS.relative_to(ROOT) if JARS.is_relative_to(ROOT) else JARS}: run `make kafka-jars`"
    return None


def quick_options(heap: str) -> list[str]:
    """Options of a JVM that lives for one test or one test run."""
    archive = class_archive(JARS)
    # A JVM complains on stdout about an archive that it cannot use.
    return [f"-Xmx{heap}", *QUICK, *([f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xlog:all=error:stderr"] if archive else [])]


def java(*arguments: str, options: Sequence[str] | None = None, classes: Path | None = None) -> list[str]:
    """The command that runs a class with Kafka on its class path; ``classes`` is a directory with
    more classes. Kafka's own scripts give tools a small heap, too."""
    class_path = f"{JARS}/*" if classes is None else f"{JARS}/*{os.pathsep}{classes}"
    return ["java", *(quick_options("256m") if options is None else options), _LOG_LEVEL, "-cp", class_path, *arguments]


def java_program(source: Path, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """The command that runs a single-file program, with ``options`` beside the usual ones."""
    return java(source.stem, *arguments, options=[*quick_options("256m"), *options], classes=compiled(source))


@cache
def compiled(source: Path, jars: Path = JARS) -> Path:
    """The classes, beside the jars; compiled again when the program or the jars change."""
    key = source.read_text() + repr(sorted(each.name for each in jars.glob("*.jar")))
    classes = jars.parent / "programs" / f"{source.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    if not classes.exists():
        classes.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=classes.parent) as temporary:
            target = Path(temporary, classes.name)
            quick = [f"-J{option}" for option in QUICK]
            done = subprocess.run(
                ["javac", *quick, "-cp", f"{jars}/*", "-d", str(target), str(source)], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{source.name} does not compile:\n{done.stderr}"
            # Another process may have been faster.
            with suppress(OSError):
                target.rename(classes)
    return classes
