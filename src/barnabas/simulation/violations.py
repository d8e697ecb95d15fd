"""The two ways in which a run fails."""

from __future__ import annotations


class Violation(AssertionError):
    """A claim about the cluster was broken. The text names the claim, the node and the data."""


class NotConverged(Violation):
    """All faults ended long enough ago, and the cluster still has not converged."""
