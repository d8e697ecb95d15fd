"""The file that spark-submit is given; ``barnabas pipelines submit-script`` says where it lies."""
