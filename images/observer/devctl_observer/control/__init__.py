"""What every kind's package is built from, and all write requests."""
