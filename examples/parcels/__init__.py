"""Depots scan parcels. Their records gain a field while other depots still write the old ones."""
