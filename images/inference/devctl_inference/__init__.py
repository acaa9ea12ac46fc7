"""The program in a job's container: waits for an image, classifies it, writes the result."""
