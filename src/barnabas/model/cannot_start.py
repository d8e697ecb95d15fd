"""Why a node refuses to start."""

from __future__ import annotations


class CannotStart(Exception):
    """One sentence for the user."""
