"""Links of the site lead to the same text as links of the repository."""

from __future__ import annotations

import pytest

from docs_site.repository_pages import rewrite_links

HOST = "https://host/project"


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        # README.md is the first page, and lies one folder above the others.
        ("index.md", "docs/cluster.md", "cluster.md"),
        ("index.md", "docs/pipelines.md#case-studies", "pipelines.md#case-studies"),
        ("index.md", "docs/decisions/", "decisions/index.md"),
        ("index.md", "ARCHITECTURE.md", "ARCHITECTURE.md"),
        ("formats.md", "tiered_storage.md", "tiered_storage.md"),
        ("formats.md", "../ARCHITECTURE.md#layers", "ARCHITECTURE.md#layers"),
        ("case_studies/mybank.md", "../exactly_once.md", "../exactly_once.md"),
        ("case_studies/mybank.md", "../../README.md", "../index.md"),
        # Files that the site does not have.
        ("case_studies/mybank.md", "../../examples/mybank/alerts.yaml", f"{HOST}/blob/main/examples/mybank/alerts.yaml"),
        ("pipelines.md", "../examples", f"{HOST}/tree/main/examples"),
        # Links that are right already.
        ("index.md", "#what-works", "#what-works"),
        ("index.md", "https://example.org/docs/a.md", "https://example.org/docs/a.md"),
    ],
)
def test_a_link_is_resolved_from_the_file_of_its_page(page: str, link: str, expected: str) -> None:
    assert rewrite_links(f"see [this]({link}).", page, repository=HOST) == f"see [this]({expected})."


def test_a_link_to_a_missing_file_stays_so_that_the_build_fails() -> None:
    assert rewrite_links("[a](../gone/away.py)", "formats.md", repository=HOST) == "[a](../gone/away.py)"


def test_images_of_the_readme_are_found() -> None:
    html = '<img alt="a map" src="docs/figures/architecture.svg">'
    assert rewrite_links(html, "index.md", repository=HOST) == '<img alt="a map" src="figures/architecture.svg">'


def test_code_is_left_alone() -> None:
    text = "`[a](docs/b.md)`\n\n```\n[a](docs/b.md)\n```\n"
    assert rewrite_links(text, "index.md", repository=HOST) == text
