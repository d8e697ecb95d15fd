"""How `make docs` turns `docs/` into a site: the hooks that `mkdocs.yml` names.

====================  ============================================================================
``repository_pages``  pages that live in the root of the repository, and links that leave ``docs/``
``command_pages``     the reference of the commands, made from the commands
``command_text``      one command as Markdown
====================  ============================================================================

MkDocs loads the hooks as plain files, so they import each other as a package only because
`make docs` starts MkDocs with ``python -m``, which puts the root of the repository on the import
path.
"""
