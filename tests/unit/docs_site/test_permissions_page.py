"""The page about authorization shows what the handlers declare."""

from __future__ import annotations

from docs_site.permissions_page import PAGE, table, with_table


def test_the_table_of_the_page_is_that_of_the_handlers() -> None:
    assert PAGE.read_text() == with_table(PAGE.read_text()), "run: python -m docs_site.permissions_page"


def test_the_table_has_every_kind_of_need() -> None:
    found = table()
    assert "| ApiVersions | nothing |" in found
    assert "| Vote | CLUSTER_ACTION on cluster |" in found
    assert "| SyncGroup | READ on group |" in found
