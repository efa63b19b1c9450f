"""Alembic's entry: migrations run on the connection that `kantor.service.store.migrating` hands over."""

from alembic import context

from kantor.service.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, transactional_ddl=False)
context.run_migrations()
