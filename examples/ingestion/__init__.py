"""Big-data ingestion: every click in a lake table, and figures of the last minutes for a dashboard.

The table is for later questions.
"""
