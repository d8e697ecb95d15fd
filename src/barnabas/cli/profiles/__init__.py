"""``barnabas profile``: clusters by name.

:mod:`~.profile_file` reads and writes the file, :mod:`~.command` has the options.
"""
