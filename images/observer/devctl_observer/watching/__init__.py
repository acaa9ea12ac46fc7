"""Keeps stores equal to what the API server has."""
