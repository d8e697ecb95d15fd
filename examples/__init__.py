"""Barnabas at work: ``orders`` only needs a cluster, the case studies run pipelines on Spark."""
