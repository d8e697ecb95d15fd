"""Spark's session: quiet, with the packages that the pipelines need, and refused with one sentence
where Spark is not available.

The JVM's output to stderr (Ivy's report, Spark's log, stack traces of Python workers) goes to a
file instead: the JVM inherits our stderr when it is started, so stderr is redirected to the file
during the start. Under ``spark-submit`` the JVM runs already; it has its own log and must have been
given the packages (``--packages $(barnabas pipelines packages FILE)``).
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import REDACTION
from barnabas.pipelines.packages import DELTA, ICEBERG, PACKAGES_SETTING, listed, packages_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

DEFAULT_MASTER = "local[*]"
DEFAULT_LOG = ".barnabas/spark.log"
# Local and small: the default of 200 is for clusters, and each partition costs a task and a state
# store in every batch.
_LOCAL_SHUFFLE_PARTITIONS = "4"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
# Steps that call functions of the user.
_PYTHON_STEPS = frozenset({"python", "state"})
_EXTENSIONS_SETTING = "spark.sql.extensions"
_ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def open_session(
    pipelines: Sequence[PipelineDeclaration],
    master: str | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    log: str | os.PathLike[str] = DEFAULT_LOG,
    packages: Sequence[str] = (),
) -> SparkSession:
    """``settings`` take precedence over those in the files; ``packages`` are added to those the
    pipelines need. The caller calls ``stop()``."""
    check_spark()
    from pyspark.sql import SparkSession

    _silence_pyspark()
    submitted = is_submitted()
    wanted = settings_for(pipelines, settings or {}, packages)
    builder = SparkSession.builder.appName(", ".join(each.name for each in pipelines) or "barnabas")
    if not submitted:
        builder = builder.master(master or DEFAULT_MASTER)
        wanted = {**_local_settings(master or DEFAULT_MASTER), **wanted}
    elif master is not None:
        raise CannotRun("Give --master to spark-submit, not to the pipeline it runs.")
    for name, value in wanted.items():
        builder = builder.config(name, value)
    if submitted:
        return _without_jars_in_python(builder.getOrCreate())
    # Workers run the interpreter that has our dependencies, not the first `python3` of the path.
    # PySpark reads only this variable: spark.pyspark.python is for spark-submit.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    path = Path(log)
    with _jvm_stderr_to(path), _keeping_ctrl_c():
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise CannotRun(f"Spark did not start{_reason(path)}; {path} has the rest.") from error
    _ignore_sigterm(session)
    session.sparkContext.setLogLevel("WARN")
    return _without_jars_in_python(session)


def close_session(session: SparkSession) -> None:
    """Also works when the JVM has ended. The JVM itself ends with this process, because its stdin
    closes."""
    with suppress(*jvm_gone()), warnings.catch_warnings():
        # PySpark warns that a JVM that has ended cannot be shut down cleanly.
        warnings.simplefilter("ignore", RuntimeWarning)
        session.stop()


def check_spark() -> None:
    """``CannotRun`` names the packages to install."""
    missing = [name for name in ("pyspark", "pandas", "pyarrow") if importlib.util.find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise CannotRun(f"Pipelines need Spark, but {' and '.join(missing)} {are} not installed: pip install 'barnabas[spark]'.")
    if not is_submitted() and java() is None:
        home = os.environ.get("JAVA_HOME")
        where = f"in JAVA_HOME ({home})" if home else "on the PATH and no JAVA_HOME"
        raise CannotRun(f"Spark needs Java 17 or later, but there is no java {where}: install a JRE.")


def _silence_pyspark() -> None:
    """PySpark writes every error of SQL to stderr, as a line of JSON with stack traces, and py4j
    every failed call into the JVM and every exception of a function that the JVM calls. We print a
    sentence; Spark's log has the traces."""
    from pyspark.logger import PySparkLogger

    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # py4j writes some of it to the root logger.
    logging.getLogger().addFilter(_not_of_py4j)

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def jvm_gone() -> tuple[type[Exception], ...]:
    """The exceptions of calls into a JVM that has ended. A call in progress raises the base class
    of all of py4j's errors."""
    from py4j.protocol import Py4JError

    return Py4JError, ConnectionError


def _ignore_sigterm(session: SparkSession) -> None:
    """A signal to the process group (``timeout``) or to all processes of a service (systemd) would
    end the JVM under the driver, in the middle of a batch. The driver gets the same signal and
    shuts the JVM down cleanly; if the driver dies, the JVM ends too."""
    jvm: Any = session._jvm  # noqa: SLF001 - the JVM's own handlers are reached through it alone
    jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal("TERM"), jvm.sun.misc.SignalHandler.SIG_IGN)


@contextmanager
def _keeping_ctrl_c() -> Iterator[None]:
    """PySpark installs its own Ctrl-C handler when it starts. An existing handler stays."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        is_ours = callable(before) and before is not signal.default_int_handler
        if is_ours and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")


def log_name() -> str:
    """The name of Spark's log for users."""
    return "Spark's log" if is_submitted() else DEFAULT_LOG


def is_submitted() -> bool:
    """Whether spark-submit started this process: then a variable holds the port of the JVM."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def settings_for(pipelines: Sequence[PipelineDeclaration], settings: Mapping[str, str], packages: Sequence[str] = ()) -> dict[str, str]:
    needed = list(dict.fromkeys([*packages_of(pipelines), *packages]))
    wanted = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "spark.sql.streaming.metricsEnabled": "false",
        # The default of 15 s is too short for a Python worker to start on a busy machine, and a
        # query would fail.
        "spark.python.authenticate.socketTimeout": "120s",
        **REDACTION,
    }
    if not own_python_is_in(os.getcwd(), pipelines):
        # Spark starts its workers with `python -m`, which searches for modules in the working
        # directory first: a file there with the name of a standard module (grp.py) would break
        # them.
        wanted["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    extensions = []
    if DELTA in needed:
        extensions.append(_DELTA_EXTENSION)
        wanted["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    if ICEBERG in needed:
        extensions.append(_ICEBERG_EXTENSION)
    for pipeline in pipelines:
        extensions += listed(pipeline.spark.get(_EXTENSIONS_SETTING, ""))
        wanted |= pipeline.spark
    if extensions:
        wanted[_EXTENSIONS_SETTING] = ",".join(dict.fromkeys(extensions))
    if needed:
        wanted[PACKAGES_SETTING] = ",".join(needed)
    return {**wanted, **settings}


def own_python_is_in(folder: str, pipelines: Sequence[PipelineDeclaration]) -> bool:
    """Whether workers must import from there: a pipeline has Python code of its own that lies
    there, or that this process, too, would import from there (a package below the folder, with
    ``python -m``)."""
    folder = os.path.abspath(folder)
    imports_from_there = folder in (os.path.abspath(each) for each in sys.path)
    return any(
        (pipeline.path.endswith(".py") or any(step.kind in _PYTHON_STEPS for step in pipeline.steps))
        and (imports_from_there or os.path.dirname(os.path.abspath(pipeline.path)) == folder)
        for pipeline in pipelines
    )


def _local_settings(master: str) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = _LOCAL_SHUFFLE_PARTITIONS
        # A single machine does not need its network name, which may not resolve.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _without_jars_in_python(session: SparkSession) -> SparkSession:
    """Spark puts every jar of its packages on Python's path, for those that contain modules.
    Workers drop their knowledge of archives before each task and read them again: 300 ms of every
    task, with the connector and its dependencies. So jars without modules are removed."""
    from pyspark import SparkFiles

    context = session.sparkContext
    root = Path(SparkFiles.getRootDirectory())
    names: list[str] = context._python_includes or []  # noqa: SLF001 - there is no setting for it
    for name in [each for each in names if each.endswith(".jar") and not _has_modules(root / each)]:
        names.remove(name)
        with suppress(ValueError):
            sys.path.remove(str(root / name))
    return session


def _has_modules(jar: Path) -> bool:
    try:
        with ZipFile(jar) as archive:
            return any(name.endswith((".py", ".pyc")) for name in archive.namelist())
    except (OSError, BadZipFile):
        return True


@contextmanager
def _jvm_stderr_to(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    ours = os.dup(2)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(log, 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(log)


def _reason(log: Path) -> str:
    """The last message of the JVM that looks like a reason."""
    lines = log.read_text("utf-8", errors="replace").splitlines()[-200:]
    for line in reversed(lines):
        if "unresolved dependency" in line or "Exception" in line:
            return f" ({' '.join(line.split())})"
    return ""
