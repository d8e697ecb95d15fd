"""Keeps PySpark's workers from reading their archives again in every task.

Before each task a worker drops its knowledge of its import path (``importlib.invalidate_caches``),
in case Spark has added files. For archives that means reading their directories again, once for
every package that was imported from them: Spark's own are on the path as ``pyspark.zip``, py4j's
zip and even the jar of Spark's core, and that takes 100 to 250 ms of processor time in every task.
A small task of ours takes 10 ms.
"""

from __future__ import annotations

import re
import sys
from zipimport import zipimporter

# They do not change while Spark runs. Archives that users add (``--py-files``) are read again, as
# Spark intends.
_SPARKS_OWN = re.compile(r"/(?:pyspark\.zip|py4j-[\w.-]+\.zip|spark-core_[\w.-]+\.jar)$")


def stop_rereading() -> None:
    """Called in a task, for the worker's later tasks: they have nothing to read again. An import
    uses the cached directories."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and _SPARKS_OWN.search(finder.archive):
            del sys.path_importer_cache[path]
