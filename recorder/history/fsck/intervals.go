package fsck

// intervalQueries check the schemas before journalSchema: a version says from when to when it held. A version of no length
// is right only where it is what a deletion showed.
var intervalQueries = []query{
	{Dangling, "a version belongs to an object that is not there", `SELECT v.valid_from, '', '', '' FROM version v LEFT JOIN object o ON o.id = v.object_id
		WHERE o.id IS NULL ORDER BY v.valid_from, v.seq LIMIT %d`},
	{Order, "a version ends before it begins", `SELECT v.valid_from, o.kind, o.namespace, o.name FROM version v JOIN object o ON o.id = v.object_id
		WHERE v.valid_to < v.valid_from ORDER BY v.valid_from, v.seq LIMIT %d`},
	{Order, "a version begins while the one before it still holds", `SELECT n, kind, namespace, name FROM (
		SELECT o.kind, o.namespace, o.name, v.valid_to t, lead(v.valid_from) OVER w n, lead(v.seq) OVER w s
		FROM version v JOIN object o ON o.id = v.object_id WINDOW w AS (PARTITION BY v.object_id ORDER BY v.valid_from, v.seq))
		WHERE n IS NOT NULL AND (t IS NULL OR t > n) ORDER BY n, s LIMIT %d`},
	{Order, "its versions have a hole between them", `SELECT t, kind, namespace, name FROM (
		SELECT o.kind, o.namespace, o.name, v.valid_to t, lead(v.valid_from) OVER w n, lead(v.seq) OVER w s
		FROM version v JOIN object o ON o.id = v.object_id WINDOW w AS (PARTITION BY v.object_id ORDER BY v.valid_from, v.seq))
		WHERE n IS NOT NULL AND t < n ORDER BY t, s LIMIT %d`},
	{Order, "it has no version", `SELECT o.first_seen, o.kind, o.namespace, o.name FROM object o
		WHERE o.id NOT IN (SELECT object_id FROM version) ORDER BY o.first_seen, o.id LIMIT %d`},
	{Order, "it was deleted, but a version of it still holds", `SELECT v.valid_from, o.kind, o.namespace, o.name FROM version v JOIN object o ON o.id = v.object_id
		WHERE o.deleted_seen IS NOT NULL AND v.valid_to IS NULL AND v.seq IS NOT o.deleted_seq ORDER BY v.valid_from, v.seq LIMIT %d`},
	{Order, "it was deleted before it was seen", `SELECT o.first_seen, o.kind, o.namespace, o.name FROM object o
		WHERE o.deleted_seen < o.first_seen ORDER BY o.first_seen, o.id LIMIT %d`},
	{Order, "it lives twice under one name", `SELECT max(o.first_seen), o.kind, o.namespace, o.name FROM object o WHERE o.deleted_seen IS NULL
		GROUP BY o.kind, o.namespace, o.name HAVING count(*) > 1 ORDER BY 1, 2, 3, 4 LIMIT %d`},
}
