"""What a run must not end with."""

from __future__ import annotations


class Violation(AssertionError):
    """A promise of the cluster was broken. The text says which, by whom and with what."""


class NotConverged(Violation):
    """Everything works again, has for a while, and the cluster still does not."""
