-- What a person reads with sqlite3. Times are UTC text, valid_to is empty for what still holds.
-- "SELECT * FROM pod WHERE valid_to IS NULL" is the end of the history; at an instant:
-- "... WHERE valid_from <= '2024-05-28T10:00:00' AND coalesce(valid_to, '9') > '2024-05-28T10:00:00'".

CREATE VIEW object_version AS
SELECT kind, namespace, name,
  CASE typeof(uid) WHEN 'blob' THEN lower(substr(hex(uid), 1, 8) || '-' || substr(hex(uid), 9, 4) || '-' ||
    substr(hex(uid), 13, 4) || '-' || substr(hex(uid), 17, 4) || '-' || substr(hex(uid), 21)) ELSE uid END AS uid,
  strftime('%Y-%m-%dT%H:%M:%S', created_at, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%S', gone_at / 1000000000, 'unixepoch') AS deleted_at,
  strftime('%Y-%m-%dT%H:%M:%S', at / 1000000000, 'unixepoch') || printf('.%09d', at % 1000000000) AS valid_from,
  strftime('%Y-%m-%dT%H:%M:%S', next_at / 1000000000, 'unixepoch') || printf('.%09d', next_at % 1000000000) AS valid_to,
  node_name, content, state, seq
FROM (
  SELECT s.kind, s.namespace, s.prefix || o.name AS name, o.uid, o.created_at, v.at, v.seq, v.ends, v.content_id,
    iif(v.ends IS NULL, lead(v.at) OVER (PARTITION BY s.kind, v.object_id ORDER BY v.seq), v.at) AS next_at,
    max(iif(v.ends IS NULL, NULL, v.at)) OVER (PARTITION BY s.kind, v.object_id) AS gone_at,
    w.value AS node_name, c.json AS content, t.json AS state
  FROM version v JOIN object o ON o.id = v.object_id JOIN scope s ON s.id = o.scope_id LEFT JOIN content c ON c.id = v.content_id
  LEFT JOIN content t ON t.id = v.state_id LEFT JOIN word w ON w.id = v.node_id
) WHERE content_id IS NOT NULL;

CREATE VIEW pod AS
SELECT namespace, name, uid, created_at, deleted_at, valid_from, valid_to,
  iif(state ->> '$.unbound', NULL, node_name) AS node_name, state ->> '$.phase' AS phase,
  node_name IS NOT NULL AND state ->> '$.unbound' IS NULL AS scheduled, state ->> '$.nominatedNodeName' AS nominated_node_name,
  (SELECT c.value ->> '$.message' FROM json_each(state, '$.conditions') c WHERE c.value ->> '$.type' = 'PodScheduled') AS message,
  content ->> '$.metadata.ownerReferences[0].kind' AS owner_kind, content ->> '$.metadata.ownerReferences[0].name' AS owner,
  content ->> '$.spec.priority' AS priority, content -> '$.metadata.labels' AS labels,
  (SELECT json_group_array(json(c.value -> '$.resources.requests')) FROM json_each(content, '$.spec.containers') c) AS requests, seq
FROM object_version WHERE kind = 'Pod';

CREATE VIEW node AS
SELECT name, uid, created_at, deleted_at, valid_from, valid_to, content ->> '$.metadata.annotations."scalehist.io/node-group"' AS node_group,
  (SELECT c.value ->> '$.status' FROM json_each(state, '$.conditions') c WHERE c.value ->> '$.type' = 'Ready') AS ready,
  coalesce(state ->> '$.unschedulable', 0) AS unschedulable, state -> '$.taints' AS taints,
  content ->> '$.metadata.labels."node.kubernetes.io/instance-type"' AS machine_type,
  content ->> '$.metadata.labels."topology.kubernetes.io/zone"' AS zone,
  content -> '$.status.allocatable' AS allocatable, content -> '$.metadata.labels' AS labels, seq
FROM object_version WHERE kind = 'Node';

CREATE VIEW node_group AS
SELECT name, deleted_at, valid_from, valid_to, content ->> '$.spec.minSize' AS min_size, content ->> '$.spec.maxSize' AS max_size,
  state ->> '$.targetSize' AS target_size, content ->> '$.spec.zone' AS zone, content ->> '$.spec.machineType' AS machine_type,
  content -> '$.spec.template' AS template, content ->> '$.metadata.annotations."scalehist.io/worker-pool"' AS worker_pool,
  content ->> '$.metadata.annotations."scalehist.io/machine-deployment"' AS machine_deployment, seq
FROM object_version WHERE kind = 'NodeGroup';

CREATE VIEW machine_deployment AS
SELECT machine_deployment AS name, name AS node_group, target_size AS replicas, machine_type, valid_from, valid_to
FROM node_group WHERE machine_deployment IS NOT NULL;

CREATE VIEW worker_pool AS
SELECT worker_pool AS name, name AS node_group, min_size, max_size, valid_from, valid_to
FROM node_group WHERE worker_pool IS NOT NULL;

CREATE VIEW workload AS
SELECT kind, namespace, name, uid, created_at, deleted_at, valid_from, valid_to,
  coalesce(state ->> '$.replicas', content ->> '$.spec.parallelism') AS replicas, content -> '$.spec.template' AS template, seq
FROM object_version WHERE kind IN ('Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController', 'Job');

CREATE VIEW daemon_set AS
SELECT namespace, name, uid, created_at, deleted_at, valid_from, valid_to, content -> '$.spec.template' AS template, seq
FROM object_version WHERE kind = 'DaemonSet';

CREATE VIEW pod_disruption_budget AS
SELECT namespace, name, uid, created_at, deleted_at, valid_from, valid_to, content ->> '$.spec.minAvailable' AS min_available,
  content ->> '$.spec.maxUnavailable' AS max_unavailable, content -> '$.spec.selector' AS selector,
  state ->> '$.disruptions.allowed' AS disruptions_allowed, state ->> '$.disruptions.currentHealthy' AS current_healthy, seq
FROM object_version WHERE kind = 'PodDisruptionBudget';

CREATE VIEW priority_class AS
SELECT name, deleted_at, valid_from, valid_to, content ->> '$.value' AS value, content ->> '$.globalDefault' AS global_default,
  content ->> '$.preemptionPolicy' AS preemption_policy, seq
FROM object_version WHERE kind = 'PriorityClass';

CREATE VIEW storage AS
SELECT kind, namespace, name, deleted_at, valid_from, valid_to, content, seq
FROM object_version WHERE kind IN ('PersistentVolume', 'PersistentVolumeClaim', 'StorageClass', 'CSINode');

CREATE VIEW ca_settings AS
SELECT namespace, name, valid_from, valid_to, c.value ->> '$.image' AS image,
  coalesce(c.value -> '$.command', '[]') AS command, coalesce(c.value -> '$.args', '[]') AS args, NULL AS priorities
FROM object_version, json_each(content, '$.spec.template.spec.containers') c
WHERE kind = 'Deployment' AND (c.value ->> '$.command' IS NOT NULL OR c.value ->> '$.args' IS NOT NULL)
UNION ALL
SELECT namespace, name, valid_from, valid_to, NULL, NULL, NULL, content ->> '$.data.priorities'
FROM object_version WHERE kind = 'ConfigMap' AND name = 'cluster-autoscaler-priority-expander';

CREATE VIEW events AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', s.at / 1000000000, 'unixepoch') || printf('.%09d', s.at % 1000000000) AS seen_at,
  e.type, e.reason, e.component, e.regarding_kind, e.regarding_ns AS namespace, e.regarding_name AS name,
  coalesce(s.series, s.count, 1) AS count,
  coalesce(s.message, (SELECT message FROM event_seen f WHERE f.event_id = s.event_id ORDER BY f.at, f.seq LIMIT 1)) AS message, s.seq
FROM event_seen s JOIN event e ON e.id = s.event_id;

CREATE VIEW scale_up AS
SELECT seen_at, reason, regarding_kind, namespace, name, message FROM events
WHERE reason IN ('TriggeredScaleUp', 'ScaledUpGroup', 'FailedToScaleUpGroup', 'NotTriggerScaleUp');

CREATE VIEW scale_down AS
SELECT seen_at, reason, regarding_kind, namespace, name, message FROM events
WHERE reason IN ('ScaleDown', 'ScaleDownEmpty', 'ScaleDownFailed');

CREATE VIEW gap_in_recording AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', from_ns / 1000000000, 'unixepoch') AS from_at,
  strftime('%Y-%m-%dT%H:%M:%S', to_ns / 1000000000, 'unixepoch') AS to_at, kinds, why FROM gap;

CREATE VIEW resource_quota AS
SELECT namespace, name, uid, deleted_at, valid_from, valid_to, content -> '$.spec.hard' AS hard, state -> '$.used' AS used, seq
FROM object_version WHERE kind = 'ResourceQuota';

-- The objects of providers: machine deployments, machines, workers, node pools, node claims.
CREATE VIEW provider_object AS
SELECT kind, namespace, name, uid, created_at, deleted_at, valid_from, valid_to, state ->> '$.replicas' AS replicas, content,
  state -> '$.status' AS status, seq
FROM object_version WHERE instr(kind, '.') > 0;

CREATE VIEW usages AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', at / 1000000000, 'unixepoch') AS at, namespace, pod, container, cpu_milli, memory_bytes FROM usage;

CREATE VIEW samples AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', s.at / 1000000000, 'unixepoch') AS at, r.name AS series, r.labels, s.value
FROM sample s JOIN series r ON r.id = s.series_id;
