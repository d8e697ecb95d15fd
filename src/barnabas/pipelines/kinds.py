"""Kinds of sources, steps, sinks and formats: a name in a file leads to a module, which is imported when a pipeline uses it.

A module is all there is to a kind: how it is declared (pure, so that a file is checked without Spark) and what it does on Spark. Its
Spark imports stand inside its functions.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar, cast

from barnabas.pipelines.errors import CannotRun

KindModule = TypeVar("KindModule")


class Kinds(Generic[KindModule]):
    """Fields of a file and the modules behind them. Several fields may lead to one module: ``topic``, ``topics`` and ``pattern``."""

    def __init__(self, noun: str, package: str, modules: dict[str, str]) -> None:
        self._noun = noun
        self._modules = {name: f"{package}.{module}" for name, module in modules.items()}

    @property
    def names(self) -> list[str]:
        return list(self._modules)

    def add(self, name: str, module: str) -> None:
        """For kinds of one's own: the module's full name."""
        self._modules[name] = module

    def of(self, name: str) -> KindModule:
        module = self._modules[name]
        try:
            return cast(KindModule, import_module(module))
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
            raise CannotRun(f"This version of Barnabas has no {self._noun} of the kind {name!r}.") from missing

    def constant(self, name: str, constant: str, default: object) -> object:
        """What a kind may say about itself and need not."""
        return getattr(cast(ModuleType, self.of(name)), constant, default)
