"""Functions of users, found by ``module:name`` beside the pipeline's file or on Python's path.

Executors have only what is sent to them. Modules that lie beside the file are therefore sent by
value with the functions that use them, and need not be installed or packed; installed modules are
sent by name, and must be installed on the executors as well.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from barnabas.pipelines.declaration.fields import Fields
from barnabas.pipelines.declaration.located import Place


def declare_function(fields: Fields, name: str) -> Callable[..., Any] | str:
    """``module:name`` from a file, the object itself from code."""
    found = fields.located(name, "text")
    value: Any = None if found is None else found.value
    if callable(value):
        function: Callable[..., Any] = value
        return function
    if isinstance(value, str) and all(part.strip() for part in value.partition(":")):
        return value
    if name not in fields or found is not None:
        fields.report(f"{name!r} of {fields.what} is a function as module:name, not {value!r}.", name)
    return ""


def load(function: Callable[..., Any] | str, place: Place) -> Callable[..., Any]:
    if not isinstance(function, str):
        return function
    module_name, _, name = function.partition(":")
    folder = os.path.dirname(os.path.abspath(place.path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as missing:
        if missing.name != module_name:
            raise
        raise place.error(f"there is no module {module_name!r} beside the file or installed.") from missing
    found = getattr(module, name, None)
    if not callable(found):
        raise place.error(f"module {module_name!r} has no function {name!r}.")
    _send_by_value(folder)
    return found  # type: ignore[no-any-return]


def _send_by_value(folder: str) -> None:
    from pyspark import cloudpickle

    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and os.path.dirname(os.path.abspath(path)) == folder and module.__name__ != "__main__":
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
