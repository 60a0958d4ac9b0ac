-- The history of one cluster. All times are nanoseconds since 1970-01-01 UTC, except version.times.
-- Read it through the views (0002_views.sql): they join, name and date everything.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One uninterrupted stretch in which a recorder watched. to_ns is NULL while it is open; alive_ns is the last sign of
-- life, which ends the stretch when the recorder died.
CREATE TABLE recording (
  id       INTEGER PRIMARY KEY,
  from_ns  INTEGER NOT NULL,
  to_ns    INTEGER,
  alive_ns INTEGER NOT NULL,
  kinds    TEXT NOT NULL DEFAULT '[]'
) STRICT;

-- A stretch [from_ns, to_ns) in which kinds (all if empty) were not watched.
CREATE TABLE gap (
  id      INTEGER PRIMARY KEY,
  from_ns INTEGER NOT NULL,
  to_ns   INTEGER NOT NULL,
  kinds   TEXT NOT NULL DEFAULT '[]',
  why     TEXT NOT NULL,
  CHECK (from_ns <= to_ns)
) STRICT;
CREATE INDEX gap_time ON gap(from_ns, to_ns);

-- Content-addressed JSON: what objects are (role content) and the part of them that changes often (role state).
CREATE TABLE content (
  id   INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE, -- first 16 bytes of the SHA-256 of json
  json TEXT NOT NULL
) STRICT;

-- Node names, stored once.
CREATE TABLE word (
  id    INTEGER PRIMARY KEY,
  value TEXT NOT NULL UNIQUE
) STRICT;

-- One life of an object: a name used again is a new row. Identity is the UID: 16 bytes, or text where it is no UUID.
CREATE TABLE object (
  id           INTEGER PRIMARY KEY,
  kind         TEXT NOT NULL,
  namespace    TEXT NOT NULL,
  name         TEXT NOT NULL,
  uid          ANY NOT NULL,
  created_at   INTEGER,          -- object time: metadata.creationTimestamp
  first_seen   INTEGER NOT NULL, -- observed time, and with first_seq the key of its first version
  first_seq    INTEGER NOT NULL,
  deleted_at   INTEGER,          -- object time: metadata.deletionTimestamp, NULL if it had none
  deleted_seen INTEGER,          -- observed time, NULL while it lives
  deleted_seq  INTEGER,
  last_from    INTEGER,          -- key of its last version, once it is deleted
  last_seq     INTEGER
) STRICT;
CREATE INDEX object_deleted ON object(deleted_seen, deleted_seq) WHERE deleted_seen IS NOT NULL;
CREATE INDEX object_kind ON object(kind) WHERE kind <> 'Pod';
CREATE INDEX object_live ON object(kind, namespace, name) WHERE deleted_seen IS NULL;

-- What an object was in [valid_from, valid_to) of observed time; valid_to is NULL while it still is. seq is the order
-- in which everything was recorded. A version with the seq of its object's deletion is the state the deletion showed.
CREATE TABLE version (
  valid_from INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  valid_to   INTEGER,
  object_id  INTEGER NOT NULL REFERENCES object(id),
  content_id INTEGER NOT NULL REFERENCES content(id),
  state_id   INTEGER REFERENCES content(id),
  node_id    INTEGER REFERENCES word(id),
  -- Seconds after object.created_at (after 1970 without it), comma separated, empty if unset: status.startTime,
  -- metadata.deletionTimestamp, then the lastTransitionTime of each condition of state.
  times      TEXT,
  object_at  INTEGER, -- the object's own time of this change, where a source gave one
  few        INTEGER, -- 1 for all kinds but Pod: their versions are few enough to index by object
  PRIMARY KEY (valid_from, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX version_object ON version(object_id) WHERE few = 1;

CREATE TABLE event (
  id               INTEGER PRIMARY KEY,
  uid              ANY NOT NULL UNIQUE,
  api              TEXT NOT NULL, -- "v1" or "events.k8s.io/v1"
  namespace        TEXT NOT NULL,
  name             TEXT NOT NULL,
  type             TEXT NOT NULL,
  reason           TEXT NOT NULL,
  action           TEXT NOT NULL,
  component        TEXT NOT NULL,
  instance         TEXT NOT NULL,
  created_at       INTEGER,
  event_ns         INTEGER, -- eventTime
  first_ns         INTEGER, -- firstTimestamp
  regarding_kind   TEXT NOT NULL,
  regarding_ns     TEXT NOT NULL,
  regarding_name   TEXT NOT NULL,
  regarding_uid    ANY NOT NULL,
  regarding_more   TEXT, -- JSON of what else the reference says
  related          TEXT  -- JSON object reference
) STRICT;
CREATE INDEX event_reason ON event(reason);

-- One row each time an event was seen, or seen again with a new count.
CREATE TABLE event_seen (
  at       INTEGER NOT NULL, -- observed time
  seq      INTEGER NOT NULL,
  event_id INTEGER NOT NULL REFERENCES event(id),
  count    INTEGER, -- count of the core API
  last_ns  INTEGER, -- lastTimestamp of the core API
  series   INTEGER, -- series.count
  series_ns INTEGER, -- series.lastObservedTime
  message  TEXT, -- NULL: as when it was seen first
  PRIMARY KEY (at, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_seen_event ON event_seen(event_id);

CREATE TABLE usage (
  at           INTEGER NOT NULL,
  namespace    TEXT NOT NULL,
  pod          TEXT NOT NULL,
  container    TEXT NOT NULL,
  cpu_milli    INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  PRIMARY KEY (at, namespace, pod, container)
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL,
  labels TEXT NOT NULL, -- JSON object
  UNIQUE (name, labels)
) STRICT;

CREATE TABLE sample (
  at        INTEGER NOT NULL,
  series_id INTEGER NOT NULL REFERENCES series(id),
  value     REAL NOT NULL,
  PRIMARY KEY (at, series_id)
) STRICT, WITHOUT ROWID;
