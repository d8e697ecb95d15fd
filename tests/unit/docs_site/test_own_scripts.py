"""Pages of the site ask no other host for scripts."""

from __future__ import annotations

from docs_site.own_scripts import MERMAID, with_own_scripts
from docs_site.repository_pages import ROOT

PAGE = '<html><head></head><body><pre class="mermaid"><code>flowchart LR</code></pre></body></html>'


def test_a_page_with_a_diagram_loads_the_sites_own_mermaid() -> None:
    assert '<script src="../assets/vendor/mermaid.tiny.js"></script>\n</head>' in with_own_scripts(PAGE, "case_studies/mybank.html")
    assert f'<script src="{MERMAID}"></script>' in with_own_scripts(PAGE, "index.html")
    assert (ROOT / "docs" / MERMAID).stat().st_size > 1_000_000


def test_a_page_without_a_diagram_loads_no_mermaid() -> None:
    page = "<html><head></head><body><pre><code>mermaid</code></pre></body></html>"
    assert with_own_scripts(page, "quotas.html") == page


def test_the_link_to_the_repository_does_not_ask_for_its_stars() -> None:
    link = '<a href="https://example.org/repository" class="md-source" data-md-component="source">'
    assert with_own_scripts(link, "index.html") == '<a href="https://example.org/repository" class="md-source">'
