"""The same tests with the compiled record scanner and with the one in Python.

A module of tests that begins with ``pytestmark = BOTH_SCANNERS`` runs twice. Where the scanner is
not compiled, the first run is skipped with a sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType

import pytest

from barnabas.model import compiled

NOT_COMPILED = "the record scanner is not compiled (make scanner needs a C compiler)"
BOTH_SCANNERS = pytest.mark.usefixtures("record_scanner")
needs_compiled = pytest.mark.skipif(not compiled.is_compiled(), reason=NOT_COMPILED)


@contextmanager
def plain_python() -> Iterator[None]:
    """Puts every compiled function back to its twin in Python, wherever it was imported to."""
    replaced = [
        (module, name, value)
        for module in list(sys.modules.values())
        if module is not None and module.__name__.partition(".")[0] in ("barnabas", "tests")
        for name, value in list(vars(module).items())
        if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, FunctionType)
    ]
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in replaced:
            patch.setattr(module, name, value.__self__)
        patch.setattr(compiled, "_record_scanner", None)
        yield
