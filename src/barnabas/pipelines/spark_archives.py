"""What PySpark's workers lose with every task, and how they stop losing it.

A worker forgets before each task what it knows of its import path (``importlib.invalidate_caches``), in case Spark has brought new files.
For archives that means to read their directories again, once for every package that was imported from them: Spark's own are on the path
as ``pyspark.zip``, py4j's zip and even the jar of Spark's core, and that takes 100 to 250 ms of processor time, of every task. A small
task of ours takes 10 ms.
"""

from __future__ import annotations

import re
import sys
from zipimport import zipimporter

# They stay as they are while Spark runs. What users add (``--py-files``) is looked at again, as Spark means it.
_SPARKS_OWN = re.compile(r"/(?:pyspark\.zip|py4j-[\w.-]+\.zip|spark-core_[\w.-]+\.jar)$")


def stop_rereading() -> None:
    """Called in a task, for the worker's later ones: they find nothing to read again. An import makes what it needs from what is known."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and _SPARKS_OWN.search(finder.archive):
            del sys.path_importer_cache[path]
