"""Values of options, converted without pydantic where that is simple.

Newer releases of typer convert every value with pydantic, which takes as long to load as all else
that a short command does. Most values need none of it: text, numbers in their range, flags, paths
without conditions, and options that are not given. Those are converted here, and all others by
typer, so that typer words every refusal. Releases of typer that work in another way are left as
they are.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args, get_origin

_NOT_PLAIN: Final = object()
# Conditions of a path that need the file system, and so typer.
_PATH_CONDITIONS: Final = ("exists", "resolve_path", "allow_dash", "path_type")


def use_plain_values(command: Any) -> None:
    """``command`` is typer's, with all its parameters and the commands below it."""
    for parameter in command.params:
        _prepare(parameter)
    make_help_option = command.get_help_option
    # --help is made when a command line is parsed.
    command.get_help_option = lambda context: _prepare(make_help_option(context))
    for below in getattr(command, "commands", {}).values():
        use_plain_values(below)


def _prepare(parameter: Any) -> Any:
    if hasattr(parameter, "type_descriptor") and "get_runtime_param" not in vars(parameter):
        parameter.get_runtime_param = _PlainFirst(parameter.get_runtime_param).itself
    return parameter


class _PlainFirst:
    """What typer calls to convert a value: our conversion, and typer's own behind it."""

    def __init__(self, typers: Any) -> None:
        self._typers = typers

    def itself(self) -> _PlainFirst:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        converted = _plain(value, param.type_descriptor.annotation, param.type_descriptor.parameter_info)
        return self._typers().coerce(value, param=param, ctx=ctx) if converted is _NOT_PLAIN else converted


def _plain(value: Any, annotation: Any, info: Any) -> Any:
    if info.parser is not None:
        return _NOT_PLAIN
    if get_origin(annotation) is list:
        (inner,) = get_args(annotation)
        values = [_plain(each, inner, info) for each in value] if isinstance(value, list | tuple) else [_NOT_PLAIN]
        return _NOT_PLAIN if _NOT_PLAIN in values else values
    if not isinstance(annotation, type):
        return _NOT_PLAIN
    if annotation is str:
        return value if isinstance(value, str) else _NOT_PLAIN
    if annotation is int or annotation is float:
        return _number(value, annotation, info)
    if issubclass(annotation, Enum):
        return _choice(value, annotation)
    if annotation is Path and not any(getattr(info, condition) for condition in _PATH_CONDITIONS):
        return Path(value) if isinstance(value, str) else value
    return _NOT_PLAIN


def _number(value: Any, annotation: Any, info: Any) -> Any:
    try:
        number = annotation(value)
    except (TypeError, ValueError):
        return _NOT_PLAIN
    in_range = (info.min is None or number >= info.min) and (info.max is None or number <= info.max)
    return number if in_range else _NOT_PLAIN


def _choice(value: Any, annotation: type[Enum]) -> Any:
    try:
        return annotation(value)
    except ValueError:
        return _NOT_PLAIN
