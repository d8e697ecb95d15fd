"""What a pipeline's file says, checked, as values. Nothing here needs Spark."""
