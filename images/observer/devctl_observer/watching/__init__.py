"""Stores that mirror the API server."""
