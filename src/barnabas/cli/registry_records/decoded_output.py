"""The output of ``consume``, decoded if a format asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from barnabas.cli.cluster.client import Cluster
from barnabas.cli.consume.reading import Keep
from barnabas.cli.consume.template import Render
from barnabas.cli.registry_records.formats import Format
from barnabas.cli.registry_records.registry_access import registry_client


@dataclass(frozen=True, slots=True)
class DecodedOutput:
    key: Format
    value: Format
    url: str | None
    login: str | None = field(repr=False)

    @contextmanager
    def of(self, cluster: Cluster, render: Render, keep: Keep | None) -> Iterator[tuple[Render, Keep | None]]:
        """The functions for records as they come. Raises ``Refused`` at the end if a record could
        not be decoded."""
        if not (self.key.needs_registry or self.value.needs_registry):
            yield render, keep
            return
        # Imported here: most commands need no registry.
        from barnabas.cli.registry_records.decoding import Decoding

        with registry_client(cluster.registry, self.url, self.login) as registry:
            decoding = Decoding(registry, self.key, self.value)
            yield decoding.before(render), decoding.before(keep) if keep is not None else None
            decoding.report()
