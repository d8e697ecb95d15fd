"""The decisions of schema validation. Pure.

Read in this order: :mod:`.stamps` (how a record names its schema), :mod:`.knowledge` (what a
registry says about a stamp, and how long that counts), :mod:`.verdict` (which records are wrong),
:mod:`.examination` (one batch from bytes to verdict or questions).
"""
