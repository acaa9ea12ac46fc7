"""What is wrong between a user and their servers, and how it is fixed."""
