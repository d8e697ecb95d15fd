"""Kinds of sources, steps, sinks and formats: a name in a file selects a module, which is imported
when a pipeline uses it.

The module is the whole kind: its declaration (pure, so that a file can be checked without Spark)
and its work on Spark. Its Spark imports are inside its functions.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar, cast

from barnabas.pipelines.errors import CannotRun

KindModule = TypeVar("KindModule")


class Kinds(Generic[KindModule]):
    """Fields of a file and their modules. Several fields may share a module: ``topic``, ``topics``
    and ``pattern``."""

    def __init__(self, noun: str, package: str, modules: dict[str, str]) -> None:
        self._noun = noun
        self._modules = {name: f"{package}.{module}" for name, module in modules.items()}

    @property
    def names(self) -> list[str]:
        return list(self._modules)

    def add(self, name: str, module: str) -> None:
        """For custom kinds: the module's full name."""
        self._modules[name] = module

    def of(self, name: str) -> KindModule:
        module = self._modules[name]
        try:
            return cast(KindModule, import_module(module))
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
            raise CannotRun(f"This release of Barnabas has no {self._noun} of the kind {name!r}.") from missing

    def constant(self, name: str, constant: str, default: object) -> object:
        """An optional constant of a kind's module."""
        return getattr(cast(ModuleType, self.of(name)), constant, default)
