"""MySocialMedia: likes and comments of each post as they come, and the posts that are talked about."""
