"""Pages of the site that live in the root of the repository, and links that lead out of ``docs/``.

People who browse the repository expect ``README.md`` and ``ARCHITECTURE.md`` in its root, and the
site needs them as pages. There is one copy: this hook adds the files to the site and rewrites the
links of every page.

==================================  =============================================
a link to                           becomes
==================================  =============================================
a page of the site                  a link to that page, wherever its file lies
another file or folder that exists  a link to the file in the hosted repository
a file that does not exist          stays, and fails the build (``--strict``)
==================================  =============================================
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parent.parent
# The page's address in the site, and its file in the repository.
PAGES: Final = {
    "index.md": "README.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
_FILES: Final = {path: page for page, path in PAGES.items()}
# A fenced block, a piece of code, or the target of a link or image. Only the last has a group.
_TARGET: Final = re.compile(r"^```.*?^```|`[^`\n]*`|(?<=\]\()([^)\s]+)(?=\))|(?<= src=\")([^\"]+)(?=\")", re.MULTILINE | re.DOTALL)
_ELSEWHERE: Final = re.compile(r"[a-z]+:|#|/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page, path in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    return rewrite_links(markdown, page.file.src_uri, repository=(config.repo_url or "").rstrip("/"))


def rewrite_links(markdown: str, page: str, *, repository: str) -> str:
    """``page`` is the page's address in the site, from which its links are resolved."""

    def rewritten(match: re.Match[str]) -> str:
        target = match[1] or match[2]
        return match[0] if target is None else _rewrite(target, page, repository)

    return _TARGET.sub(rewritten, markdown)


def _rewrite(target: str, page: str, repository: str) -> str:
    if _ELSEWHERE.match(target):
        return target
    path, hash_sign, anchor = target.partition("#")
    source = PAGES.get(page) or f"docs/{page}"
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    found = ROOT / wanted
    if wanted == "docs/decisions":
        wanted = "docs/decisions/index.md"
    if wanted in _FILES:
        inside = _FILES[wanted]
    elif wanted.startswith("docs/"):
        inside = wanted.removeprefix("docs/")
    elif found.exists():
        return f"{repository}/{'tree' if found.is_dir() else 'blob'}/main/{wanted}{hash_sign}{anchor}"
    else:
        return target
    return posixpath.relpath(inside, posixpath.dirname(page) or ".") + hash_sign + anchor
