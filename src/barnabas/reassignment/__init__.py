"""Plans that move partitions between brokers: assignments, proposals, and throttles. Pure."""
