"""How `make docs` turns `docs/` into a site: the hooks that `mkdocs.yml` names. `make man` makes
manual pages from the same commands.

====================  ============================================================================
``repository_pages``  pages that live in the root of the repository, and links that leave ``docs/``
``command_pages``     the reference of the commands, made from the commands
``command_text``      one command as Markdown
``man_pages``         the manual pages, made from the commands
``man_page``          one command as a manual page
``screenshots``       pictures of the console
====================  ============================================================================

MkDocs loads the hooks as plain files, so they import each other as a package only because
`make docs` starts MkDocs with ``python -m``, which puts the root of the repository on the import
path.
"""
