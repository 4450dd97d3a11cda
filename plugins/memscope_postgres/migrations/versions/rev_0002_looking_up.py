"""Looking up: indexes for lists by change and for the audit log's filters, and erasing out of the trash by who may."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

INDEXES = """
CREATE INDEX memory_changed ON memscope.memory (org_id, updated_at DESC, memory_id DESC) WHERE forgotten_at IS NULL;
CREATE INDEX memory_expiring ON memscope.memory (org_id, valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX audit_actor ON memscope.audit (org_id, actor, position DESC);
CREATE INDEX audit_action ON memscope.audit (org_id, action text_pattern_ops, position DESC);
CREATE INDEX audit_target ON memscope.audit (org_id, target, position DESC) WHERE target IS NOT NULL;
CREATE INDEX audit_connection ON memscope.audit (org_id, connection, position DESC) WHERE connection IS NOT NULL;
CREATE INDEX audit_agent ON memscope.audit (org_id, agent, position DESC) WHERE agent IS NOT NULL;
CREATE INDEX audit_run ON memscope.audit (org_id, run_id, position DESC) WHERE run_id IS NOT NULL;
CREATE INDEX audit_request ON memscope.audit (org_id, (detail ->> 'request'), position DESC) WHERE detail ? 'request';
CREATE INDEX audit_result ON memscope.audit (org_id, approved_via, position DESC) WHERE approved_via <> 'none';
CREATE INDEX audit_at ON memscope.audit (org_id, at);
"""

FUNCTION = """
-- Erase a forgotten memory that this transaction has locked, and everything derived from it; counts are what is left.
-- The application role deletes no memory otherwise: row-level security has let it lock this one to change it.
CREATE FUNCTION memscope.erase_forgotten(memory uuid) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = memscope, pg_temp AS $$
DECLARE
  organization uuid := nullif(current_setting('memscope.org', true), '')::uuid;
  versions bigint;
  vectors bigint;
BEGIN
  IF memory <> ALL (coalesce(nullif(current_setting('memscope.opened', true), '')::uuid[], '{}')) THEN
    RETURN NULL;
  END IF;
  PERFORM FROM memory m WHERE m.org_id = organization AND m.memory_id = memory AND m.forgotten_at IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  UPDATE memory m SET superseded_by = NULL WHERE m.org_id = organization AND m.superseded_by = memory;
  UPDATE idempotency i SET digest = '' WHERE i.org_id = organization AND i.memory_id = memory;
  DELETE FROM memory_search s WHERE s.org_id = organization AND s.memory_id = memory;
  DELETE FROM ticket t WHERE t.org_id = organization AND t.memory_id = memory;
  DELETE FROM memory_version v WHERE v.org_id = organization AND v.memory_id = memory;
  GET DIAGNOSTICS versions = ROW_COUNT;
  DELETE FROM memory_vector v WHERE v.org_id = organization AND v.memory_id = memory;
  GET DIAGNOSTICS vectors = ROW_COUNT;
  DELETE FROM memory m WHERE m.org_id = organization AND m.memory_id = memory;
  RETURN jsonb_build_object('versions', versions::text, 'vectors', vectors::text);
END $$;
REVOKE EXECUTE ON FUNCTION memscope.erase_forgotten(uuid) FROM PUBLIC;
"""


def upgrade() -> None:
    """Add them."""
    op.execute(INDEXES)
    op.execute(FUNCTION)
