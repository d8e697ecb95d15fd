"""Reads a Python file with a ``Pipeline`` as a declaration. The file is executed, so it must be
trusted like any code.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path

from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
from barnabas.pipelines.errors import DeclarationError, PipelineError
from barnabas.pipelines.pipeline import Pipeline

# Not "__main__": a file may end with ``if __name__ == "__main__": pipeline.run()``.
_RUN_NAME = "__barnabas_pipeline__"


def read_python(path: str) -> PipelineDeclaration:
    if not Path(path).is_file():
        raise DeclarationError(path, 1, "there is no such file.")
    # The file can import modules that lie beside it, as when Python runs it.
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        names = runpy.run_path(path, run_name=_RUN_NAME)
    except PipelineError:
        raise
    except SyntaxError as error:
        raise DeclarationError(path, error.lineno or 1, f"this is not Python: {error.msg}.") from error
    except Exception as error:
        raise DeclarationError(path, _line(error, path), f"{type(error).__name__}: {error}.") from error
    finally:
        sys.path.pop(0)
    found = {id(value): value for value in names.values() if isinstance(value, Pipeline)}
    if len(found) != 1:
        raise DeclarationError(path, 1, f"a pipeline's file has one Pipeline at its top level, but this one has {len(found) or 'none'}.")
    (pipeline,) = found.values()
    return pipeline.declaration()


def _line(error: BaseException, path: str) -> int:
    """The last line of that file in the traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path and frame.lineno]
    return lines[-1] if lines else 1
