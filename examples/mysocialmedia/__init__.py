"""MySocialMedia: likes and comments of each post as they come, and the most discussed posts."""
