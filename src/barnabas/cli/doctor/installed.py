"""The installed programs: Barnabas and its libraries, Java, Spark."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from barnabas import __version__
from barnabas.cli.doctor.finding import Finding, ok, problem, warning
from barnabas.model.compiled import PURE_VARIABLE, is_compiled

JAVA_SECONDS_MAX = 10.0
JAVA_VERSION_MIN = 17
_SPARK_ADVICE = "Pipelines and SQL need it: pip install 'barnabas[spark]'."
_JAVA_ADVICE = f"Pipelines and SQL run on Spark, which needs Java {JAVA_VERSION_MIN} or later: install a JRE. The broker needs none."


def versions() -> Iterable[Finding]:
    libraries = {name: _version(name) for name in ("uvloop", "confluent-kafka")}
    listed = ", ".join(f"{name} {found or 'missing'}" for name, found in libraries.items())
    fact = f"Barnabas {__version__}, Python {platform.python_version()}, {listed}, {platform.platform(terse=True)}"
    if libraries["uvloop"] is None and sys.platform != "win32":
        yield warning("versions", f"{fact}.", "Install uvloop: a node serves twice as many small requests with it.")
    else:
        yield ok("versions", f"{fact}.")


def record_scanner() -> Iterable[Finding]:
    if is_compiled():
        yield ok("record scanner", "Records are read by compiled code.")
    elif os.environ.get(PURE_VARIABLE):
        yield ok("record scanner", f"Records are read in Python, as {PURE_VARIABLE} demands.")
    else:
        # No warning: everything works, and only compaction of large topics gains much.
        yield ok("record scanner", "Records are read in Python; docs/deploying.md tells how to install the compiled code.")


def java() -> Iterable[Finding]:
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if path is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        yield warning("java", f"There is no java {where}.", _JAVA_ADVICE)
        return
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=JAVA_SECONDS_MAX, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        yield problem("java", f"{path} does not run: {error}.", _JAVA_ADVICE)
        return
    found = java_version(done.stderr + done.stdout)
    if found is None:
        yield warning("java", f"{path} does not tell its version.", _JAVA_ADVICE)
    elif found < JAVA_VERSION_MIN:
        yield problem("java", f"{path} is Java {found}.", f"Spark needs Java {JAVA_VERSION_MIN} or later: set JAVA_HOME to one.")
    else:
        yield ok("java", f"Java {found} at {path}.")


def java_version(said: str) -> int | None:
    """The feature release: 17 of 17.0.9, and 8 of 1.8.0."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if found is None:
        return None
    return int(found[2] or 0) if found[1] == "1" else int(found[1])


def spark() -> Iterable[Finding]:
    found = {name: _version(name) for name in ("pyspark", "pandas", "pyarrow")}
    missing = [name for name, installed in found.items() if installed is None]
    if missing:
        yield warning("spark", f"{', '.join(missing)} not installed.", _SPARK_ADVICE)
    elif os.environ.get("SPARK_HOME"):
        fact = f"SPARK_HOME is {os.environ['SPARK_HOME']}, beside the installed pyspark {found['pyspark']}."
        yield warning("spark", fact, "Unset SPARK_HOME, unless it is the same release.")
    else:
        yield ok("spark", f"{', '.join(f'{name} {installed}' for name, installed in found.items())}.")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
