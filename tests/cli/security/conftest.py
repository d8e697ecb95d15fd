from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.security.secured import Secured, mutual_tls, scram_over_tls


@pytest.fixture(scope="package", params=[scram_over_tls, mutual_tls], ids=["scram_over_tls", "mutual_tls"])
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with request.param(tmp_path_factory.mktemp("secured")) as made:
        yield made


@pytest.fixture(scope="package")
def scram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with scram_over_tls(tmp_path_factory.mktemp("scram")) as made:
        yield made
