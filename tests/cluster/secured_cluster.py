"""A started cluster and a view of it, with or without security: the two have the same shape, so a
test takes either."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from peers.cluster import Cluster
from tests.cluster.secured import APP, Securing, allow_app, set_scram_password
from tests.cluster.view import View, ready


@contextmanager
def plaintext_cluster(cluster: Cluster) -> Iterator[tuple[Cluster, View]]:
    with cluster:
        yield cluster, ready(cluster)


@contextmanager
def secured_cluster(cluster: Cluster, properties: Mapping[str, str] | None = None) -> Iterator[tuple[Cluster, View]]:
    with tempfile.TemporaryDirectory(prefix="secured-") as directory, secured_with(Securing(cluster, Path(directory)), properties) as view:
        yield cluster, view


@contextmanager
def secured_with(securing: Securing, properties: Mapping[str, str] | None = None) -> Iterator[View]:
    """Every listener asks for SASL_SSL, ACLs are on, and clients log in with SCRAM."""
    securing.secure_from_the_start(properties)
    with securing.cluster as cluster:
        view = ready(cluster, securing.with_scram)
        set_scram_password(view.access, APP.password)
        allow_app(view.access)
        yield view
