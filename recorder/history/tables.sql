-- The history of one cluster. Times are nanoseconds since 1970-01-01 UTC where a column does not say otherwise.
-- Read it through the views (views.sql): they join, name and date everything.

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

-- What many objects share. The prefix is that of the names of pods of one controller ("web-6d4b75cb6d-"), else "".
CREATE TABLE scope (
  id        INTEGER PRIMARY KEY,
  kind      TEXT NOT NULL, -- "Pod"; of a custom kind "MachineDeployment.machine.sapcloud.io"
  namespace TEXT NOT NULL,
  prefix    TEXT NOT NULL,
  UNIQUE (kind, namespace, prefix)
) STRICT;

-- One life of an object: a name used again is a new row. Identity is the UID: 16 bytes, or text where it is no UUID.
CREATE TABLE object (
  id         INTEGER PRIMARY KEY, -- the seq of its first version
  scope_id   INTEGER NOT NULL,
  name       TEXT NOT NULL,       -- what follows the prefix
  uid        ANY NOT NULL,
  created_at INTEGER,             -- object time: metadata.creationTimestamp, in seconds since 1970
  first_seen INTEGER,             -- observed time of the first version, where created_at is not known
  few        INTEGER              -- 1 for all kinds but Pod: they are few enough to index
) STRICT;

-- What an object was from "at" (observed time) until its next row. seq is the order in which everything was recorded,
-- and "at" never goes back in it. A row with "ends" is where the object went; it names the last version, which is the
-- row itself if the deletion showed more than was known.
CREATE TABLE version (
  seq        INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  object_id  INTEGER NOT NULL,
  content_id INTEGER, -- NULL where the row only ends the object
  state_id   INTEGER, -- of content
  node_id    INTEGER, -- of word
  -- Seconds after object.created_at (after 1970 without it), comma separated, empty if unset: status.startTime,
  -- metadata.deletionTimestamp, then the lastTransitionTime of each condition of state.
  times      TEXT,
  -- The object's own time of this change, where a source gave one: seconds after object.created_at (after 1970 without
  -- it), or as text nanoseconds since 1970. Of an end: metadata.deletionTimestamp.
  object_at  ANY,
  few        INTEGER, -- as in object
  ends       INTEGER  -- the seq of the last version
) STRICT;

-- The versions that held after seq, whose time is "at": their seqs, ascending, each as the difference to the one before
-- in the variable-length form of protocol buffers. One is written whenever as much has changed as lives.
CREATE TABLE keyframe (
  seq  INTEGER PRIMARY KEY,
  at   INTEGER NOT NULL,
  live BLOB NOT NULL
) STRICT;

-- Where the history begins once its past was forgotten: at a keyframe. What is older is not read.
CREATE TABLE base (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  at  INTEGER NOT NULL
) STRICT;

-- Every file has the indexes after the tables, in this order.
CREATE INDEX gap_time ON gap(from_ns, to_ns);
CREATE INDEX event_reason ON event(reason);
CREATE INDEX event_seen_event ON event_seen(event_id);
CREATE INDEX object_kind ON object(scope_id) WHERE few = 1;
CREATE INDEX object_text ON object(scope_id, name) WHERE typeof(uid) = 'text';
CREATE INDEX version_few ON version(object_id, at) WHERE few = 1;
CREATE INDEX keyframe_at ON keyframe(at);
