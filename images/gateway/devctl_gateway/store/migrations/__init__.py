"""The schema's history, as Alembic runs it."""
