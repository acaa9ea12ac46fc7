"""Runs the tiers of the tests, and holds what they take against what they may."""
