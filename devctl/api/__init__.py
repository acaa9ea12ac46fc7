"""The words that every room shares: kinds, labels, names."""
