"""Triggers by which a table can only be added to, whoever writes."""

from __future__ import annotations

TABLES = ("audit", "ledger", "prices", "runs")


def create(dialect: str, table: str) -> list[str]:
    """Statements that make a table append-only."""
    says = f"'table {table} can only be added to'"
    if dialect == "sqlite":
        refuse = f"BEGIN SELECT RAISE(ABORT, {says}); END"
        return [
            f"CREATE TRIGGER {table}_refuse_{verb} BEFORE {verb} ON {table} {refuse}"
            for verb in ("update", "delete")
        ]
    body = f"BEGIN RAISE EXCEPTION {says}; END"
    when = f"BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
    return [
        f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        f"CREATE TRIGGER {table}_refuse {when} EXECUTE FUNCTION {table}_refuse()",
    ]


def drop(dialect: str, table: str) -> list[str]:
    """Statements that undo `create`."""
    if dialect == "sqlite":
        return [f"DROP TRIGGER {table}_refuse_{verb}" for verb in ("update", "delete")]
    return [f"DROP TRIGGER {table}_refuse ON {table}", f"DROP FUNCTION {table}_refuse()"]
