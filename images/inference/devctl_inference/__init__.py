"""What a job's container does: waits for an image, classifies it, writes the answer."""
