"""MyBank: transactions in a database, and alerts for customers about those above a threshold."""
