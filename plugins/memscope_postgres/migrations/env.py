"""Alembic's entry: runs the revisions on the connection that `upgrade` made."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table_schema="memscope")
with context.begin_transaction():
    context.run_migrations()
