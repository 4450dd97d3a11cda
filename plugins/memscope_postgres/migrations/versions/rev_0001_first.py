"""The first schema.

`org_id` leads every key, foreign key and index but in the directory of organizations and the list of embedding models.
Row-level security stands on every table of an organization. Who may read a memory is said once here, by `_readable`, and
again by the queries: the policies are the second wall. They read transaction-local variables; unset means no rows.
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ORG = "org_id = nullif(current_setting('memscope.org', true), '')::uuid"
ME = "(SELECT nullif(current_setting('memscope.person', true), '')::uuid)"  # a sub-select is evaluated once a query


def _among(column: str, variable: str, kind: str = "int") -> str:
    """A set variable as a sub-select: its text is parsed once a query; a bare array would be parsed for every row."""
    return f"{column} IN (SELECT unnest(nullif(current_setting('memscope.{variable}', true), '')::{kind}[]))"


#: By audience; or as the author, in whose variable an audience stands twice over: 2a while every version is the author's own
#: (`own`), 2a + 1 when somebody else has changed the text.
_BY_AUDIENCE = _among("audience_id", "anybody")
_AS_AUTHOR = f"{_among('audience_id * 2 + CASE WHEN own THEN 0 ELSE 1 END', 'mine')} AND author = {ME}"
#: A memory that this transaction has locked to change it stays visible to it, whatever audience it gets.
_OPENED = _among("memory_id", "opened", "uuid")
_BY_STANDING = f"""
  CASE WHEN forgotten_at IS NULL
    THEN {_BY_AUDIENCE} OR {_AS_AUTHOR} OR flagged AND ({_among("audience_id", "reviewer")} OR author = {ME})
    ELSE current_setting('memscope.forgotten', true) = 'on' AND ({_BY_AUDIENCE} OR forgotten_by = {ME} AND {_AS_AUTHOR})
  END"""
_MEMORY = f"{ORG} AND ({_BY_STANDING} OR {_OPENED} OR forgotten_at IS NULL AND {_among('memory_id', 'revealed', 'uuid')})"
_MEMORY_TO_CHANGE = f"{ORG} AND ({_BY_STANDING} OR {_OPENED})"
_LOCKED = f"{ORG} AND {_OPENED}"
_FOUND = f"{ORG} AND live AND ({_BY_AUDIENCE} OR {_AS_AUTHOR})"
_OF_VISIBLE_MEMORY = (
    f"{ORG} AND EXISTS (SELECT FROM memscope.memory m WHERE m.org_id = memory_version.org_id AND m.memory_id = memory_version.memory_id)"
)
_MINE = f"{ORG} AND person_id = {ME}"

TABLES = """
CREATE TABLE memscope.organization (
  org_id uuid PRIMARY KEY,
  slug text NOT NULL UNIQUE,
  name text NOT NULL,
  timezone text NOT NULL,
  trash_days int NOT NULL,
  default_scope text NOT NULL,
  default_sensitivity smallint NOT NULL,
  confirmation text NOT NULL,
  secrets text NOT NULL,
  epoch bigint NOT NULL DEFAULT 1,        -- rises with every policy fact and every new audience
  facts_epoch bigint NOT NULL DEFAULT 1,  -- the epoch of the last policy fact
  last_audience int NOT NULL DEFAULT 0
);
CREATE TABLE memscope.person (
  org_id uuid NOT NULL REFERENCES memscope.organization,
  person_id uuid NOT NULL,
  email text NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  clearance smallint,
  active boolean NOT NULL,
  PRIMARY KEY (org_id, person_id),
  UNIQUE (org_id, email)
);
CREATE TABLE memscope.grp (
  org_id uuid NOT NULL REFERENCES memscope.organization,
  group_id uuid NOT NULL,
  kind text NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  aliases text[] NOT NULL,
  team uuid,
  PRIMARY KEY (org_id, group_id),
  UNIQUE (org_id, kind, slug),
  FOREIGN KEY (org_id, team) REFERENCES memscope.grp
);
CREATE TABLE memscope.membership (
  org_id uuid NOT NULL,
  group_id uuid NOT NULL,
  person_id uuid NOT NULL,
  role text NOT NULL,
  PRIMARY KEY (org_id, group_id, person_id),
  FOREIGN KEY (org_id, group_id) REFERENCES memscope.grp,
  FOREIGN KEY (org_id, person_id) REFERENCES memscope.person
);
CREATE TABLE memscope.topic (
  org_id uuid NOT NULL REFERENCES memscope.organization,
  topic_id uuid NOT NULL,
  key text NOT NULL,
  name text NOT NULL,
  aliases text[] NOT NULL,
  description text NOT NULL,
  phrases text[] NOT NULL,
  sensitivity smallint NOT NULL,
  guarding boolean NOT NULL,
  builtin boolean NOT NULL,
  retired boolean NOT NULL DEFAULT false,
  PRIMARY KEY (org_id, topic_id)
);
CREATE UNIQUE INDEX topic_key ON memscope.topic (org_id, key) WHERE NOT retired;
CREATE TABLE memscope.guard_team (
  org_id uuid NOT NULL,
  topic_id uuid NOT NULL,
  group_id uuid NOT NULL,
  PRIMARY KEY (org_id, topic_id, group_id),
  FOREIGN KEY (org_id, topic_id) REFERENCES memscope.topic,
  FOREIGN KEY (org_id, group_id) REFERENCES memscope.grp
);
CREATE TABLE memscope.connection (
  org_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  person_id uuid NOT NULL,
  kind text NOT NULL,
  client text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (org_id, connection_id),
  FOREIGN KEY (org_id, person_id) REFERENCES memscope.person
);
CREATE INDEX connection_of_person ON memscope.connection (org_id, person_id, created_at DESC);
CREATE TABLE memscope.connection_use (  -- apart, so that noting a use never waits for a transaction that holds the connection
  org_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  last_used_at timestamptz NOT NULL,
  client_version text,
  PRIMARY KEY (org_id, connection_id),
  FOREIGN KEY (org_id, connection_id) REFERENCES memscope.connection
);
CREATE TABLE memscope.audience (  -- each distinct audience once, immutable
  org_id uuid NOT NULL REFERENCES memscope.organization,
  audience_id int NOT NULL,
  scope text NOT NULL,
  group_id uuid,
  person_id uuid,
  sensitivity smallint NOT NULL,
  topics uuid[] NOT NULL,  -- sorted
  held boolean NOT NULL,
  PRIMARY KEY (org_id, audience_id),
  UNIQUE NULLS NOT DISTINCT (org_id, scope, group_id, person_id, sensitivity, topics, held)
);
CREATE TABLE memscope.memory (
  org_id uuid NOT NULL,
  memory_id uuid NOT NULL,
  number bigint NOT NULL,
  audience_id int NOT NULL,
  author uuid NOT NULL,
  own boolean NOT NULL,
  content text NOT NULL,  -- credentials masked; the raw text of `has_secret` lies in the newest version alone
  has_secret boolean NOT NULL,
  kind text,
  importance double precision NOT NULL,
  version int NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  valid_until timestamptz,
  connection_id uuid NOT NULL,
  client text,
  client_version text,
  agent text,
  run_id text,
  doubtful boolean NOT NULL,  -- its labels are for its person alone
  reviews jsonb,             -- the open ones; null when there is none
  review_state text NOT NULL,
  opened_at timestamptz,     -- when the earliest open one opened
  flagged boolean NOT NULL GENERATED ALWAYS AS (opened_at IS NOT NULL) STORED,
  tainted boolean NOT NULL,
  superseded_by uuid,
  link_acts boolean NOT NULL DEFAULT false,  -- kept by triggers: the replacement is neither held nor forgotten
  link_until timestamptz,                    -- kept by triggers: when the replacement expires
  forgotten_at timestamptz,
  forgotten_by uuid,
  PRIMARY KEY (org_id, memory_id),
  UNIQUE (org_id, number),
  FOREIGN KEY (org_id, audience_id) REFERENCES memscope.audience,
  FOREIGN KEY (org_id, author) REFERENCES memscope.person,
  FOREIGN KEY (org_id, superseded_by) REFERENCES memscope.memory,
  CHECK ((reviews IS NULL) = (opened_at IS NULL))
) WITH (fillfactor = 85);
CREATE INDEX memory_newest ON memscope.memory (org_id, created_at DESC, memory_id DESC) WHERE forgotten_at IS NULL;
CREATE INDEX memory_audience ON memscope.memory (org_id, audience_id, created_at DESC, memory_id DESC);
CREATE INDEX memory_author ON memscope.memory (org_id, author, created_at DESC, memory_id DESC);
CREATE INDEX memory_queue ON memscope.memory (org_id, opened_at, memory_id) WHERE flagged;
CREATE INDEX memory_trash ON memscope.memory (org_id, forgotten_at, memory_id) WHERE forgotten_at IS NOT NULL;
CREATE INDEX memory_replaced ON memscope.memory (org_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE TABLE memscope.memory_version (
  org_id uuid NOT NULL,
  memory_id uuid NOT NULL,
  version int NOT NULL,
  content text NOT NULL,
  masked text,
  person_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  client text,
  client_version text,
  agent text,
  run_id text,
  doubtful boolean NOT NULL,
  changed_at timestamptz NOT NULL,
  reason text,
  replaced_under int,
  PRIMARY KEY (org_id, memory_id, version),
  FOREIGN KEY (org_id, memory_id) REFERENCES memscope.memory,
  FOREIGN KEY (org_id, replaced_under) REFERENCES memscope.audience
);
CREATE INDEX version_agent ON memscope.memory_version (org_id, agent, memory_id) WHERE agent IS NOT NULL;
CREATE INDEX version_run ON memscope.memory_version (org_id, run_id, memory_id) WHERE run_id IS NOT NULL;
CREATE TABLE memscope.memory_search (  -- what search reads: terms, and a copy of what decides reading and filters; triggers keep it
  org_id uuid NOT NULL,
  memory_id uuid NOT NULL,
  audience_id int NOT NULL,
  author uuid NOT NULL,
  own boolean NOT NULL,
  live boolean NOT NULL,  -- not forgotten
  tainted boolean NOT NULL,
  kind text,
  created_at timestamptz NOT NULL,
  run_id text,
  valid_until timestamptz,
  link_acts boolean NOT NULL,
  link_until timestamptz,
  terms tsvector NOT NULL,
  sampled boolean NOT NULL GENERATED ALWAYS AS (get_byte(uuid_send(memory_id), 15) & 15 = 0) STORED,  -- one in sixteen, by chance
  PRIMARY KEY (org_id, memory_id),
  FOREIGN KEY (org_id, memory_id) REFERENCES memscope.memory
) WITH (fillfactor = 85);
CREATE INDEX search_terms ON memscope.memory_search USING gin (org_id, terms) WITH (fastupdate = off);
CREATE INDEX search_sample ON memscope.memory_search USING gin (org_id, terms) WITH (fastupdate = off) WHERE sampled;
CREATE INDEX search_audience ON memscope.memory_search (org_id, audience_id) WHERE live;
CREATE INDEX search_sampled ON memscope.memory_search (org_id, audience_id) WHERE live AND sampled;
CREATE INDEX search_author ON memscope.memory_search (org_id, author) WHERE live;
CREATE INDEX search_run ON memscope.memory_search (org_id, run_id, created_at, memory_id) WHERE run_id IS NOT NULL;
CREATE TABLE memscope.model (  -- embedding models of this server, a short list of no organization
  model smallint PRIMARY KEY,
  identity text NOT NULL UNIQUE,
  dimensions int NOT NULL,
  serving boolean NOT NULL
);
CREATE UNIQUE INDEX model_serving ON memscope.model (serving) WHERE serving;
CREATE TABLE memscope.memory_vector (  -- narrow, so that a page holds many; a copy of what decides reading
  org_id uuid NOT NULL,
  memory_id uuid NOT NULL,
  model smallint NOT NULL REFERENCES memscope.model,
  passage smallint NOT NULL,
  audience_id int NOT NULL,
  author uuid NOT NULL,
  own boolean NOT NULL,
  live boolean NOT NULL,
  tainted boolean NOT NULL,
  e halfvec NOT NULL,
  PRIMARY KEY (org_id, memory_id, model, passage),
  FOREIGN KEY (org_id, memory_id) REFERENCES memscope.memory
) WITH (fillfactor = 85);
ALTER TABLE memscope.memory_vector ALTER COLUMN e SET STORAGE PLAIN;
CREATE INDEX vector_audience ON memscope.memory_vector (org_id, audience_id) WHERE live;
CREATE INDEX vector_author ON memscope.memory_vector (org_id, author) WHERE live;
CREATE TABLE memscope.idempotency (
  org_id uuid NOT NULL,
  person_id uuid NOT NULL,
  key text NOT NULL,
  digest text NOT NULL,
  memory_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, person_id, key)
);
CREATE INDEX idempotency_memory ON memscope.idempotency (org_id, memory_id);
CREATE TABLE memscope.ticket (
  org_id uuid NOT NULL,
  ticket_id uuid NOT NULL,
  person_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  tool text NOT NULL,
  memory_id uuid NOT NULL,
  memory_version int NOT NULL,
  digest text NOT NULL,
  gaining uuid[] NOT NULL,
  summary jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  approved boolean,
  used_at timestamptz,
  PRIMARY KEY (org_id, ticket_id)
);
CREATE INDEX ticket_person ON memscope.ticket (org_id, person_id, expires_at);
CREATE INDEX ticket_memory ON memscope.ticket (org_id, memory_id);
CREATE TABLE memscope.audit (
  org_id uuid NOT NULL,
  position bigint NOT NULL,
  at timestamptz NOT NULL,
  action text NOT NULL,
  actor text,
  connection text,
  target text,
  approved_via text NOT NULL,
  agent text,
  run_id text,
  detail jsonb NOT NULL,
  previous text NOT NULL,
  digest text NOT NULL,
  PRIMARY KEY (org_id, position)
);
CREATE TABLE memscope.audit_head (  -- the newest row of each chain; its lock makes the chain gap-free
  org_id uuid PRIMARY KEY,
  position bigint NOT NULL,
  digest text NOT NULL
);
CREATE TABLE memscope.record (  -- keyed records of plugins
  org_id text NOT NULL,
  plugin text NOT NULL,
  key text NOT NULL,
  value jsonb NOT NULL,
  PRIMARY KEY (org_id, plugin, key)
);
"""

FUNCTIONS = f"""
-- The link of an older memory, when it is set: it acts while the replacement is neither held nor forgotten.
CREATE FUNCTION memscope.set_link() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = memscope, pg_temp AS $$
BEGIN
  NEW.link_acts := false;
  NEW.link_until := NULL;
  IF NEW.superseded_by IS NOT NULL THEN
    SELECT NOT a.held AND m.forgotten_at IS NULL, m.valid_until INTO NEW.link_acts, NEW.link_until
      FROM memory m JOIN audience a ON a.org_id = m.org_id AND a.audience_id = m.audience_id
      WHERE m.org_id = NEW.org_id AND m.memory_id = NEW.superseded_by FOR SHARE OF m;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER set_link BEFORE INSERT OR UPDATE OF superseded_by ON memscope.memory
  FOR EACH ROW EXECUTE FUNCTION memscope.set_link();

-- The links to a newer memory, when it changes: also those of memories that the one who changes it cannot read.
CREATE FUNCTION memscope.keep_links() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = memscope, pg_temp AS $$
BEGIN
  UPDATE memory SET
      link_acts = NEW.forgotten_at IS NULL
        AND NOT (SELECT a.held FROM audience a WHERE a.org_id = NEW.org_id AND a.audience_id = NEW.audience_id),
      link_until = NEW.valid_until
    WHERE org_id = NEW.org_id AND superseded_by = NEW.memory_id;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_links AFTER UPDATE ON memscope.memory FOR EACH ROW
  WHEN ((OLD.audience_id, OLD.forgotten_at, OLD.valid_until) IS DISTINCT FROM (NEW.audience_id, NEW.forgotten_at, NEW.valid_until))
  EXECUTE FUNCTION memscope.keep_links();

-- The copies that search reads change with the memory.
CREATE FUNCTION memscope.keep_search() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = memscope, pg_temp AS $$
BEGIN
  UPDATE memory_search SET audience_id = NEW.audience_id, own = NEW.own, live = NEW.forgotten_at IS NULL, tainted = NEW.tainted,
      kind = NEW.kind, valid_until = NEW.valid_until, link_acts = NEW.link_acts, link_until = NEW.link_until
    WHERE org_id = NEW.org_id AND memory_id = NEW.memory_id;
  UPDATE memory_vector SET audience_id = NEW.audience_id, own = NEW.own, live = NEW.forgotten_at IS NULL, tainted = NEW.tainted
    WHERE org_id = NEW.org_id AND memory_id = NEW.memory_id
      AND (audience_id, own, live, tainted) IS DISTINCT FROM (NEW.audience_id, NEW.own, NEW.forgotten_at IS NULL, NEW.tainted);
  RETURN NULL;
END $$;
CREATE TRIGGER keep_search AFTER UPDATE ON memscope.memory FOR EACH ROW
  WHEN ((OLD.audience_id, OLD.own, OLD.forgotten_at, OLD.tainted, OLD.kind, OLD.valid_until, OLD.link_acts, OLD.link_until)
    IS DISTINCT FROM (NEW.audience_id, NEW.own, NEW.forgotten_at, NEW.tainted, NEW.kind, NEW.valid_until, NEW.link_acts, NEW.link_until))
  EXECUTE FUNCTION memscope.keep_search();

-- Index a memory anew: its terms, and without its old vectors.
CREATE FUNCTION memscope.index_terms(memory uuid, terms tsvector) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = memscope, pg_temp AS $$
DECLARE
  organization uuid := nullif(current_setting('memscope.org', true), '')::uuid;
BEGIN
  DELETE FROM memory_vector v WHERE v.org_id = organization AND v.memory_id = memory;
  INSERT INTO memory_search (org_id, memory_id, audience_id, author, own, live, tainted, kind, created_at, run_id, valid_until,
      link_acts, link_until, terms)
    SELECT m.org_id, m.memory_id, m.audience_id, m.author, m.own, m.forgotten_at IS NULL, m.tainted, m.kind, m.created_at, m.run_id,
      m.valid_until, m.link_acts, m.link_until, index_terms.terms
    FROM memory m WHERE m.org_id = organization AND m.memory_id = memory
    ON CONFLICT (org_id, memory_id) DO UPDATE SET terms = excluded.terms;
END $$;

-- Add the vector of one passage of a memory.
CREATE FUNCTION memscope.index_passage(memory uuid, model smallint, passage smallint, e halfvec) RETURNS void LANGUAGE sql
  SECURITY DEFINER SET search_path = memscope, pg_temp AS $$
  INSERT INTO memory_vector (org_id, memory_id, model, passage, audience_id, author, own, live, tainted, e)
    SELECT m.org_id, m.memory_id, model, passage, m.audience_id, m.author, m.own, m.forgotten_at IS NULL, m.tainted, e
    FROM memory m WHERE m.org_id = nullif(current_setting('memscope.org', true), '')::uuid AND m.memory_id = memory
    ON CONFLICT DO NOTHING
$$;

-- Whether a chain of replacements leads from one memory to another; what lies between may be unreadable.
CREATE FUNCTION memscope.leads_to(start uuid, target uuid) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = memscope, pg_temp RETURN EXISTS (
  WITH RECURSIVE chain (id) AS (
    SELECT start
    UNION
    SELECT m.superseded_by FROM memscope.memory m JOIN chain ON m.memory_id = chain.id
      WHERE m.org_id = nullif(current_setting('memscope.org', true), '')::uuid AND m.superseded_by IS NOT NULL
  ) SELECT FROM chain WHERE id = target
);

-- How many memories lie in a group, read or not: a group with memories cannot be removed.
CREATE FUNCTION memscope.count_in_group(wanted uuid) RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = memscope, pg_temp RETURN (
  SELECT count(*) FROM memscope.memory m JOIN memscope.audience a ON a.org_id = m.org_id AND a.audience_id = m.audience_id
    WHERE m.org_id = nullif(current_setting('memscope.org', true), '')::uuid AND a.group_id = wanted
);

-- The audit chain's only door for the application role.
CREATE FUNCTION memscope.append_audit(content text, at timestamptz, action text, actor text, connection text, target text,
    approved_via text, agent text, run_id text, detail jsonb) RETURNS bigint
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = memscope, pg_temp AS $$
DECLARE
  organization uuid := nullif(current_setting('memscope.org', true), '')::uuid;
  head audit_head;
  link text;
BEGIN
  SELECT * INTO head FROM audit_head h WHERE h.org_id = organization FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO audit_head VALUES (organization, 0, repeat('0', 64)) RETURNING * INTO head;
  END IF;
  link := encode(sha256(convert_to(head.digest || E'\\n' || head.position + 1 || E'\\n' || content, 'UTF8')), 'hex');
  INSERT INTO audit VALUES (organization, head.position + 1, at, action, actor, connection, target, approved_via, agent, run_id,
    detail, head.digest, link);
  UPDATE audit_head h SET position = head.position + 1, digest = link WHERE h.org_id = organization;
  RETURN head.position + 1;
END $$;

-- The rows that a word query finds, for servers where `@@` is not leakproof and row-level security would keep it off
-- its index. It runs as the owner, so it says the policy itself.
CREATE FUNCTION memscope.search_found(query tsquery) RETURNS SETOF memscope.memory_search LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = memscope, pg_temp SET plan_cache_mode = force_custom_plan AS $$
  SELECT * FROM memscope.memory_search WHERE {_FOUND} AND terms @@ query
$$;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA memscope FROM PUBLIC;
"""

#: table → what a row must be like to be seen, changed, added and taken away by the application role; None: not at all.
POLICIES: dict[str, tuple[str | None, str | None, str | None, str | None]] = {
    "organization": ("true", ORG, None, None),  # the directory: read by exact key, before an organization is set
    "person": (ORG, ORG, ORG, None),
    "grp": (ORG, ORG, ORG, ORG),
    "membership": (ORG, ORG, ORG, ORG),
    "topic": (ORG, ORG, ORG, None),
    "guard_team": (ORG, None, ORG, ORG),
    "connection": (ORG, ORG, ORG, None),
    "connection_use": (ORG, ORG, ORG, None),
    "audience": (ORG, None, ORG, None),
    "memory": (_MEMORY, _MEMORY_TO_CHANGE, f"{ORG} AND author = {ME}", None),
    "memory_version": (_OF_VISIBLE_MEMORY, _LOCKED, f"{ORG} AND person_id = {ME}", None),
    "memory_search": (_FOUND, None, None, None),
    "memory_vector": (_FOUND, None, None, None),
    "idempotency": (_MINE, None, _MINE, None),
    "ticket": (_MINE, _MINE, _MINE, None),
    "audit": (None, None, None, None),
    "audit_head": (None, None, None, None),
    "record": ("org_id = current_setting('memscope.org', true)",) * 4,
}


def upgrade() -> None:
    """Make everything."""
    op.execute(TABLES)
    op.execute(FUNCTIONS)
    for table, (seen, changed, added, removed) in POLICIES.items():
        op.execute(f"ALTER TABLE memscope.{table} ENABLE ROW LEVEL SECURITY")
        for command, condition, clause in (
            ("SELECT", seen, "USING"),
            ("UPDATE", changed, "USING"),
            ("INSERT", added, "WITH CHECK"),
            ("DELETE", removed, "USING"),
        ):
            if condition is not None:
                check = f" WITH CHECK ({_LOCKED})" if (table, command) == ("memory", "UPDATE") else ""
                op.execute(f"CREATE POLICY {command.lower()}_{table} ON memscope.{table} FOR {command} {clause} ({condition}){check}")
