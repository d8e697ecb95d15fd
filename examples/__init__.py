"""Barnabas at work: ``orders`` needs nothing but a cluster, the case studies run pipelines on Spark."""
