"""Big-data ingestion: every click in a lake table for those who ask later, and figures of the last minutes for those who look now."""
