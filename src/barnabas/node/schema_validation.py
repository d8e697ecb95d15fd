"""Schema validation in a node: made from its settings, and kept up to date with the metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from barnabas.config.schema_validation import CACHE_SIZE, REGISTRY_URL
from barnabas.env.worker import Worker
from barnabas.metadata.applier import MetadataApplier
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.node_context import NodeContext
from barnabas.replication.local_replicas import LocalReplicas

if TYPE_CHECKING:
    from barnabas.schema_validation.limits import Limits
    from barnabas.schema_validation.lookups import SchemaSource
    from barnabas.schema_validation.validation import SchemaValidation

# A registry answers thousands of questions a second, and questions are rare.
LOOKUP_THREADS: Final = 4
# Threads share one interpreter, so more would not be faster; one of two can wait for a codec that
# decompresses without the interpreter.
EXAMINING_THREADS: Final = 2

NO_PACKAGES: Final = "the topic requires schemas, for which this broker needs the extra registry: pip install 'barnabas[registry]'"


class NodeSchemaValidation:
    """Threads and connections exist from the first batch that needs them."""

    def __init__(self, context: NodeContext, applier: MetadataApplier, replicas: LocalReplicas) -> None:
        self._replicas = replicas
        self._workers: list[Worker] = []
        self._close_source: Callable[[], None] = lambda: None
        self.validation = self._make(context, applier)
        """None without a registry; a sentence if its packages are missing."""

    def _make(self, context: NodeContext, applier: MetadataApplier) -> SchemaValidation | str | None:
        settings = context.settings
        if not settings.strings(REGISTRY_URL):
            return None
        source = self._make_source(context)
        if source is None:
            context.log.warning("schema validation impossible", reason=NO_PACKAGES)
            return NO_PACKAGES
        # Only a node with a registry loads these.
        from barnabas.schema_validation.core.knowledge import KnownSchemas
        from barnabas.schema_validation.lookups import Lookups
        from barnabas.schema_validation.validation import SchemaValidation

        known = KnownSchemas(settings.integer(CACHE_SIZE))
        limits = _LimitsOfSettings(applier)
        loop = asyncio.get_running_loop()
        asking, examining = Worker("schema-lookup", LOOKUP_THREADS), Worker("schema-validation", EXAMINING_THREADS)
        self._workers = [asking, examining]
        lookups = Lookups(source, known, asking.run, limits, context.clock, loop, context.metrics, context.log)
        return SchemaValidation(lookups, known, examining.run, limits, context.clock, loop, context.metrics)

    def _make_source(self, context: NodeContext) -> SchemaSource | None:
        try:
            from barnabas.schema_validation.registry_source import RegistrySource, registry_settings
        except ImportError:
            return None
        source = RegistrySource(registry_settings(context.settings))
        self._close_source = source.close
        return source

    async def publish(self, delta: MetadataDelta, _: MetadataImage, __: EffectiveConfigs) -> None:
        """After the logs have their new settings."""
        if delta.configs.changed and self.validation is not None and not isinstance(self.validation, str):
            self.validation.rules_changed(self._replicas)

    def stop(self) -> None:
        if self.validation is not None and not isinstance(self.validation, str):
            self.validation.stop()
        for worker in self._workers:
            worker.close()
        self._close_source()


class _LimitsOfSettings:
    """The limits, read again when settings have changed."""

    def __init__(self, applier: MetadataApplier) -> None:
        self._applier = applier
        self._of: EffectiveConfigs | None = None
        self._limits: Limits | None = None

    def __call__(self) -> Limits:
        from barnabas.schema_validation.limits import Limits

        effective = self._applier.effective
        if self._limits is None or effective is not self._of:
            self._of, self._limits = effective, Limits.from_settings(effective.broker)
        return self._limits
