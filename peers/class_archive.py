"""Kafka's classes in a file that a JVM maps, so that a broker starts with a third of the work.

A JVM spends most of its start on reading classes from jars and verifying them. ``WarmUp.java``
starts a broker and clients once, and the JVM archives the classes that they loaded ("class data
sharing"). The archive lies beside the jars. A JVM ignores an archive that does not fit it, so the
worst that a wrong one can cause is a slow start.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from peers.ports import free_port
from peers.server_properties import CLUSTER_ID, server_properties, write_properties

# Making it takes ten seconds of a processor.
_SECONDS_MAX = 300


@cache
def class_archive(jars: Path) -> Path | None:
    """The archive for these jars and this JVM, made by the first process that asks; None where it
    cannot be made."""
    found = shutil.which("java")
    if found is None or not os.access(jars.parent, os.W_OK):
        return None
    key = repr([(each.name, each.stat().st_mtime_ns) for each in (Path(found).resolve(), *sorted(jars.glob("*.jar")))])
    archive = jars.parent / f"classes-{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"
    if not archive.exists():
        with (jars.parent / ".class-archive.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not archive.exists():
                _make(archive, jars)
    return archive if archive.exists() else None


def _make(archive: Path, jars: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="class-archive-", dir=archive.parent) as temporary:
        made, properties = Path(temporary, archive.name), Path(temporary, "server.properties")
        port = free_port()
        few = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
        write_properties(properties, server_properties(Path(temporary, "data"), port, free_port(), few))
        program = Path(__file__).with_name("WarmUp.java")
        # The options that :mod:`peers.jvm` gives every JVM: an archive fits only one collector.
        options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-XX:ArchiveClassesAtExit={made}"]
        command = ["java", *options, "-cp", f"{jars}/*", str(program), f"127.0.0.1:{port}", str(properties), CLUSTER_ID]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_SECONDS_MAX, check=False)
        # It appears whole or not at all, because other processes look for it.
        if done.returncode == 0 and made.exists():
            made.rename(archive)
