-- Versions become a journal that is only added to: the order of change (seq) is the key, an end is a row of its own, and
-- keyframes say which versions held at an instant, so that the state at any instant costs what lived then, however long
-- the history is. No row is written twice, times that follow from others are not stored, names share their prefix.

DROP VIEW gap_in_recording;
DROP VIEW scale_down;
DROP VIEW scale_up;
DROP VIEW events;
DROP VIEW ca_settings;
DROP VIEW storage;
DROP VIEW priority_class;
DROP VIEW pod_disruption_budget;
DROP VIEW daemon_set;
DROP VIEW workload;
DROP VIEW worker_pool;
DROP VIEW machine_deployment;
DROP VIEW node_group;
DROP VIEW node;
DROP VIEW pod;
DROP VIEW object_version;
DROP INDEX version_object;
DROP INDEX object_live;
DROP INDEX object_kind;
DROP INDEX object_deleted;
ALTER TABLE version RENAME TO old_version;
ALTER TABLE object RENAME TO old_object;

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
CREATE INDEX object_kind ON object(scope_id) WHERE few = 1;
CREATE INDEX object_text ON object(scope_id, name) WHERE typeof(uid) = 'text';

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

INSERT INTO scope(kind, namespace, prefix) SELECT DISTINCT kind, namespace, '' FROM old_object ORDER BY kind, namespace;

INSERT INTO object(id, scope_id, name, uid, created_at, first_seen, few)
SELECT o.first_seq, s.id, o.name, o.uid, o.created_at / 1000000000, iif(o.created_at IS NULL, o.first_seen, NULL), iif(o.kind = 'Pod', NULL, 1)
FROM old_object o JOIN scope s ON s.kind = o.kind AND s.namespace = o.namespace ORDER BY o.first_seq;

INSERT INTO version(seq, at, object_id, content_id, state_id, node_id, times, object_at, few, ends)
SELECT seq, at, object_id, content_id, state_id, node_id, times,
  CASE WHEN object_ns IS NULL THEN NULL
    WHEN object_ns % 1000000000 = 0 THEN object_ns / 1000000000 - coalesce(created_at, 0) / 1000000000
    ELSE cast(object_ns AS TEXT) END,
  few, ends
FROM (
  SELECT v.seq, v.valid_from AS at, o.first_seq AS object_id, v.content_id, v.state_id, v.node_id, v.times, v.object_at AS object_ns,
    o.created_at, v.few, NULL AS ends
  FROM old_version v JOIN old_object o ON o.id = v.object_id WHERE v.seq IS NOT o.deleted_seq
  UNION ALL
  SELECT o.deleted_seq, o.deleted_seen, o.first_seq, v.content_id, v.state_id, v.node_id, v.times, o.deleted_at, o.created_at,
    iif(o.kind = 'Pod', NULL, 1), o.last_seq
  FROM old_object o LEFT JOIN old_version v ON v.valid_from = o.deleted_seen AND v.seq = o.deleted_seq
  WHERE o.deleted_seen IS NOT NULL
) ORDER BY seq;

DROP TABLE old_version;
DROP TABLE old_object;
CREATE INDEX version_few ON version(object_id, at) WHERE few = 1;

-- The versions that held after seq, whose time is "at": their seqs, ascending, each as the difference to the one before
-- in the variable-length form of protocol buffers. One is written whenever as much has changed as lives.
CREATE TABLE keyframe (
  seq  INTEGER PRIMARY KEY,
  at   INTEGER NOT NULL,
  live BLOB NOT NULL
) STRICT;
CREATE INDEX keyframe_at ON keyframe(at);

-- Where the history begins once its past was forgotten: at a keyframe. What is older is not read.
CREATE TABLE base (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  at  INTEGER NOT NULL
) STRICT;
