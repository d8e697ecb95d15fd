"""The script for spark-submit; ``barnabas pipelines submit-script`` prints its path."""
