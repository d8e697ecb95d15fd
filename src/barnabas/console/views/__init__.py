"""The operations of the console, one module for each group of views.

A module has dataclasses for its answers, a function for each operation, and ``OPERATIONS``. A
function asks the cluster through :mod:`barnabas.console.access`, and leaves decisions to
:mod:`barnabas.console.core`. The page of :mod:`barnabas.console` says how to add one.
"""
