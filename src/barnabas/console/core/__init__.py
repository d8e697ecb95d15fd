"""Decisions of the console that need no network, clock or file: models of views, decoding, filters.

Each module is the theory of one view or of one part of it, and has tests without a broker in
``tests/unit/console``.
"""
