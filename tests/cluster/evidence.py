"""The evidence of a failure: the brokers' directories and logs, and the journals and logs of
clients, in one directory.

It is removed when the test passes. When the test fails it stays, and the failure names it:
``barnabas log dump`` reads ``__consumer_offsets`` and ``__transaction_state`` there. With
``KEEP_EVIDENCE`` in the environment it stays in any case. ``COPIER_DEBUG`` names the contexts of
librdkafka's log there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def evidence(name: str) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix=f"barnabas-{name}-"))
    try:
        yield directory
    except BaseException as failure:
        failure.add_note(f"kept for analysis (directories of brokers, journals and logs of clients): {directory}")
        raise
    if "KEEP_EVIDENCE" not in os.environ:
        shutil.rmtree(directory, ignore_errors=True)
