"""Scripts from the site itself, so that no page asks another host for anything.

Material would ask other hosts for three things:

==========================  ========================================================================
Mermaid, for diagrams       a page with a diagram brings its own. The script has 2.5 MB, so other
                            pages do not load it
a worker for the search of  the copy in the site, which ``mkdocs.yml`` names: without it, the search
pages on a disk             would not work offline
the repository's stars      left out; the link to the repository stays
==========================  ========================================================================
"""

from __future__ import annotations

import posixpath
from typing import Final

from mkdocs.structure.pages import Page

MERMAID: Final = "assets/vendor/mermaid.tiny.js"
_DIAGRAM: Final = '<pre class="mermaid">'
_ASKS_FOR_STARS: Final = ' data-md-component="source"'


def on_post_page(output: str, page: Page, **_: object) -> str:
    return with_own_scripts(output, page.url)


def with_own_scripts(output: str, address: str) -> str:
    """``address`` is the page's in the site, from which the script is named: the site may also lie
    on a disk."""
    output = output.replace(_ASKS_FOR_STARS, "")
    if _DIAGRAM not in output:
        return output
    script = posixpath.relpath(MERMAID, posixpath.dirname(address) or ".")
    return output.replace("</head>", f'<script src="{script}"></script>\n</head>', 1)
