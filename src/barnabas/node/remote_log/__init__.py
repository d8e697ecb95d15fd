"""Tiered storage in a running broker: the topic of remote metadata, the tasks of leaders and followers, and reads that reach back."""
