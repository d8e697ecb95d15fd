"""Checks of the tree that ``make lint`` runs and no published tool offers."""
