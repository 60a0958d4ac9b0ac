package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// custom reads an unstructured object off YAML, as a dynamic client gives it.
func custom(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	return o
}

// customCases are one object of each custom kind: what is given, and what a history keeps of it.
var customCases = []struct{ kind, given, want string }{
	{"MachineDeployment.machine.sapcloud.io", `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: {name: shoot--p--a-z1, namespace: shoot--p, uid: md-1, creationTimestamp: "2026-03-01T11:00:00Z", resourceVersion: "7",
  labels: {name: a}, annotations: {autoscaler.gardener.cloud/max-node-provision-time: 20m, example.com/x: secret-annotation}}
spec:
  replicas: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {pool: a}, annotations: {example.com/x: secret-annotation}}
    spec: {class: {kind: MachineClass, name: a-z1-9f3d}, drainTimeout: 2h0m0s, nodeTemplate: {metadata: {labels: {zone: z1}}, spec: {taints: [{key: k, effect: NoSchedule}]}},
      providerSpec: secret-provider}
status: {replicas: 2, readyReplicas: 2, observedGeneration: 9, conditions: [{type: Available, status: "True", reason: MinimumReplicasAvailable, message: secret-message, lastTransitionTime: "2026-03-01T11:01:00Z", lastUpdateTime: "2026-03-01T11:59:00Z"}]}
`, `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: {name: shoot--p--a-z1, namespace: shoot--p, uid: md-1, creationTimestamp: "2026-03-01T11:00:00Z", labels: {name: a}, annotations: {autoscaler.gardener.cloud/max-node-provision-time: 20m}}
spec:
  replicas: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {pool: a}}
    spec: {class: {kind: MachineClass, name: a-z1-9f3d}, drainTimeout: 2h0m0s, nodeTemplate: {metadata: {labels: {zone: z1}}, spec: {taints: [{key: k, effect: NoSchedule}]}}}
status: {replicas: 2, readyReplicas: 2, conditions: [{type: Available, status: "True", reason: MinimumReplicasAvailable, lastTransitionTime: "2026-03-01T11:01:00Z"}]}
`},
	{"MachineSet.machine.sapcloud.io", `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineSet
metadata: {name: a-z1-1, namespace: shoot--p, uid: ms-1}
spec: {replicas: 3, machineClass: {kind: MachineClass, name: c}, template: {spec: {class: {name: c}, userData: secret-user-data}}}
status: {replicas: 3, failedMachines: [{name: m, lastOperation: {description: secret-error}}]}
`, `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineSet
metadata: {name: a-z1-1, namespace: shoot--p, uid: ms-1}
spec: {replicas: 3, machineClass: {kind: MachineClass, name: c}, template: {spec: {class: {name: c}}}}
status: {replicas: 3}
`},
	{"MachineClass.machine.sapcloud.io", `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineClass
metadata: {name: c, namespace: shoot--p, uid: mc-1}
nodeTemplate: {capacity: {cpu: "4", memory: 16Gi}, instanceType: m5.xlarge, region: eu-west-1, zone: eu-west-1a, architecture: amd64}
provider: AWS
providerSpec: {ami: secret-ami}
secretRef: {name: secret-ref, namespace: shoot--p}
credentialsSecretRef: {name: secret-credentials}
`, `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineClass
metadata: {name: c, namespace: shoot--p, uid: mc-1}
nodeTemplate: {capacity: {cpu: "4", memory: 16Gi}, instanceType: m5.xlarge, region: eu-west-1, zone: eu-west-1a, architecture: amd64}
provider: AWS
`},
	{"Machine.machine.sapcloud.io", `
apiVersion: machine.sapcloud.io/v1alpha1
kind: Machine
metadata: {name: m1, namespace: shoot--p, uid: m-1, annotations: {machinepriority.machine.sapcloud.io: "1"}, ownerReferences: [{apiVersion: machine.sapcloud.io/v1alpha1, kind: MachineSet, name: a-z1-1, uid: ms-1, controller: true, blockOwnerDeletion: true}]}
spec: {class: {kind: MachineClass, name: c}, providerID: "aws:///eu-west-1a/i-1", providerSpec: secret-provider}
status: {currentStatus: {phase: Failed, lastUpdateTime: "2026-03-01T11:59:00Z"}, lastOperation: {type: Create, state: Failed, errorCode: ResourceExhausted, description: secret-error, lastUpdateTime: "2026-03-01T11:50:00Z"},
  conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-03-01T11:59:00Z", lastTransitionTime: "2026-03-01T11:01:00Z"}]}
`, `
apiVersion: machine.sapcloud.io/v1alpha1
kind: Machine
metadata: {name: m1, namespace: shoot--p, uid: m-1, annotations: {machinepriority.machine.sapcloud.io: "1"}, ownerReferences: [{apiVersion: machine.sapcloud.io/v1alpha1, kind: MachineSet, name: a-z1-1, uid: ms-1, controller: true}]}
spec: {class: {kind: MachineClass, name: c}, providerID: "aws:///eu-west-1a/i-1"}
status: {currentStatus: {phase: Failed}, lastOperation: {type: Create, state: Failed, errorCode: ResourceExhausted, lastUpdateTime: "2026-03-01T11:50:00Z"},
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-03-01T11:01:00Z"}]}
`},
	{"Worker.extensions.gardener.cloud", `
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Worker
metadata: {name: p, namespace: shoot--p, uid: w-1}
spec:
  type: aws
  region: eu-west-1
  secretRef: {name: secret-ref}
  sshPublicKey: secret-key
  pools:
  - {name: a, minimum: 1, maximum: 9, zones: [z1, z2], machineType: m5.xlarge, userDataSecretRef: {name: secret-user-data}, providerConfig: {x: secret-config}, taints: [{key: k, effect: NoSchedule}], annotations: {x: secret-annotation}}
  - {name: b, minimum: 0, maximum: 3, clusterAutoscaler: {scaleDownUtilizationThreshold: "0.5"}, priority: 20, volume: {type: gp3, size: 50Gi, encrypted: true}}
status: {machineDeployments: [{name: a-z1, minimum: 1, maximum: 5}], providerStatus: {x: secret-status}}
`, `
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Worker
metadata: {name: p, namespace: shoot--p, uid: w-1}
spec:
  type: aws
  region: eu-west-1
  pools:
  - {name: a, minimum: 1, maximum: 9, zones: [z1, z2], machineType: m5.xlarge, taints: [{key: k, effect: NoSchedule}]}
  - {name: b, minimum: 0, maximum: 3, clusterAutoscaler: {scaleDownUtilizationThreshold: "0.5"}, priority: 20, volume: {type: gp3, size: 50Gi}}
status: {machineDeployments: [{name: a-z1, minimum: 1, maximum: 5}]}
`},
	{"MachineDeployment.cluster.x-k8s.io", `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md-0, namespace: default, uid: capi-1, annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1", capacity.cluster-autoscaler.kubernetes.io/cpu: "4"}}
spec: {clusterName: c, replicas: 2, template: {metadata: {labels: {pool: a}}, spec: {failureDomain: z1, bootstrap: {dataSecretName: secret-bootstrap}, infrastructureRef: {apiGroup: i, kind: T, name: t}}}}
status: {replicas: 2, upToDateReplicas: 1, phase: Running}
`, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md-0, namespace: default, uid: capi-1, annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1", capacity.cluster-autoscaler.kubernetes.io/cpu: "4"}}
spec: {clusterName: c, replicas: 2, template: {metadata: {labels: {pool: a}}, spec: {failureDomain: z1, infrastructureRef: {apiGroup: i, kind: T, name: t}}}}
status: {replicas: 2, upToDateReplicas: 1, phase: Running}
`},
	{"NodePool.karpenter.sh", `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general, uid: np-1, annotations: {karpenter.sh/nodepool-hash: "1"}}
spec:
  weight: 10
  limits: {cpu: "1000"}
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s, budgets: [{nodes: 10%}]}
  template: {metadata: {labels: {team: a}, annotations: {x: secret-annotation}}, spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, taints: [{key: k, effect: NoSchedule}], expireAfter: 720h}}
status: {resources: {cpu: "16"}, conditions: [{type: Ready, status: "True", message: secret-message}]}
`, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general, uid: np-1, annotations: {karpenter.sh/nodepool-hash: "1"}}
spec:
  weight: 10
  limits: {cpu: "1000"}
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s, budgets: [{nodes: 10%}]}
  template: {metadata: {labels: {team: a}}, spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, taints: [{key: k, effect: NoSchedule}], expireAfter: 720h}}
status: {resources: {cpu: "16"}, conditions: [{type: Ready, status: "True"}]}
`},
	{"NodeClaim.karpenter.sh", `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: general-x7, uid: nc-1, labels: {karpenter.sh/nodepool: general}}
spec: {requirements: [{key: a, operator: In, values: [b]}], resources: {requests: {cpu: "2"}}, nodeClassRef: {kind: EC2NodeClass, name: default}}
status: {nodeName: ip-10-0-0-1, providerID: "aws:///i-1", capacity: {cpu: "4"}, imageID: secret-image, lastPodEventTime: "2026-03-01T11:59:00Z"}
`, `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: general-x7, uid: nc-1, labels: {karpenter.sh/nodepool: general}}
spec: {requirements: [{key: a, operator: In, values: [b]}], resources: {requests: {cpu: "2"}}, nodeClassRef: {kind: EC2NodeClass, name: default}}
status: {nodeName: ip-10-0-0-1, providerID: "aws:///i-1", capacity: {cpu: "4"}}
`},
	{"VerticalPodAutoscaler.autoscaling.k8s.io", `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: shop, uid: vpa-1, annotations: {x: secret-annotation}}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  updatePolicy: {updateMode: Recreate, minReplicas: 2, evictionRequirements: [{resources: [cpu], changeRequirement: TargetHigherThanRequests}]}
  resourcePolicy: {containerPolicies: [{containerName: "*", minAllowed: {cpu: 10m}, maxAllowed: {memory: 4Gi}, controlledResources: [cpu, memory], controlledValues: RequestsOnly}]}
  recommenders: [{name: other}]
status:
  recommendation: {containerRecommendations: [{containerName: web, target: {cpu: 126m, memory: "262144000"}, uncappedTarget: {cpu: 126m, memory: "262144000"}, lowerBound: {cpu: 25m, memory: "262144123"}, upperBound: {cpu: 1017m, memory: "1262144123"}}]}
  conditions: [{type: RecommendationProvided, status: "True", message: secret-message, lastTransitionTime: "2026-03-01T11:01:00Z"}]
`, `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: shop, uid: vpa-1}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  updatePolicy: {updateMode: Recreate, minReplicas: 2, evictionRequirements: [{resources: [cpu], changeRequirement: TargetHigherThanRequests}]}
  resourcePolicy: {containerPolicies: [{containerName: "*", minAllowed: {cpu: 10m}, maxAllowed: {memory: 4Gi}, controlledResources: [cpu, memory], controlledValues: RequestsOnly}]}
  recommenders: [{name: other}]
status:
  recommendation: {containerRecommendations: [{containerName: web, target: {cpu: 126m, memory: "262144000"}, uncappedTarget: {cpu: 126m, memory: "262144000"}, lowerBound: {cpu: 25m, memory: 262M}, upperBound: {cpu: 1020m, memory: 1260M}}]}
  conditions: [{type: RecommendationProvided, status: "True", lastTransitionTime: "2026-03-01T11:01:00Z"}]
`},
	{"VerticalPodAutoscalerCheckpoint.autoscaling.k8s.io", `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {name: web-web, namespace: shop, uid: vpac-1}
spec: {vpaObjectName: web, containerName: web, other: secret-other}
status: {version: v3, lastUpdateTime: "2026-03-01T11:01:00Z", cpuHistogram: {referenceTimestamp: "2026-03-01T00:00:00Z", bucketWeights: {"0": 10000, "7": 33}, totalWeight: 12.5},
  firstSampleStart: "2026-02-01T11:01:00Z", lastSampleStart: "2026-03-01T11:00:00Z", totalSamplesCount: 40320}
`, `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {name: web-web, namespace: shop, uid: vpac-1}
spec: {vpaObjectName: web, containerName: web}
status: {version: v3, lastUpdateTime: "2026-03-01T11:01:00Z", cpuHistogram: {referenceTimestamp: "2026-03-01T00:00:00Z", bucketWeights: {"0": 10000, "7": 33}, totalWeight: 12.5},
  firstSampleStart: "2026-02-01T11:01:00Z", lastSampleStart: "2026-03-01T11:00:00Z", totalSamplesCount: 40320}
`},
	{"ScaledObject.keda.sh", `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web, namespace: shop, uid: so-1, annotations: {autoscaling.keda.sh/paused-replicas: "0", x: secret-annotation}}
spec:
  scaleTargetRef: {name: web, envSourceContainerName: secret-container}
  pollingInterval: 15
  minReplicaCount: 0
  maxReplicaCount: 20
  fallback: {failureThreshold: 3, replicas: 6}
  advanced: {restoreToOriginalReplicaCount: true, horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 60}}}}
  triggers:
  - {type: prometheus, name: load, metricType: AverageValue, authenticationRef: {name: prometheus-auth},
     metadata: {serverAddress: "https://admin:secret-password@prometheus.shop:9090/secret-path?token=secret-token", query: 'sum(rate(http_requests_total{app="web"}[2m]))', threshold: "100", customHeaders: "Authorization=secret-header"}}
  - {type: postgresql, metadata: {connection: "postgresql://u:secret-password@db", query: "SELECT 1 -- password=secret-inline", targetQueryValue: "secret-unknown"}}
status: {lastActiveTime: "2026-03-01T11:59:00Z", hpaName: keda-hpa-web, originalReplicaCount: 2, conditions: [{type: Ready, status: "True", reason: ScaledObjectReady, message: secret-message}]}
`, `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web, namespace: shop, uid: so-1, annotations: {autoscaling.keda.sh/paused-replicas: "0"}}
spec:
  scaleTargetRef: {name: web}
  pollingInterval: 15
  minReplicaCount: 0
  maxReplicaCount: 20
  fallback: {failureThreshold: 3, replicas: 6}
  advanced: {restoreToOriginalReplicaCount: true, horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 60}}}}
  triggers:
  - {type: prometheus, name: load, metricType: AverageValue, authenticationRef: {name: prometheus-auth},
     metadata: {serverAddress: "https://prometheus.shop:9090", query: 'sum(rate(http_requests_total{app="web"}[2m]))', threshold: "100", customHeaders: "***"}}
  - {type: postgresql, metadata: {connection: "***", query: "SELECT 1 -- password=***", targetQueryValue: "***"}}
status: {hpaName: keda-hpa-web, originalReplicaCount: 2, conditions: [{type: Ready, status: "True", reason: ScaledObjectReady}]}
`},
	{"ElastiService.elasti.truefoundry.com", `
apiVersion: elasti.truefoundry.com/v1alpha1
kind: ElastiService
metadata: {name: web, namespace: shop, uid: es-1}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: deployments, name: web}
  service: web
  minTargetReplicas: 1
  cooldownPeriod: 900
  enabledPeriod: {schedule: 0 20 * * *, duration: 10h}
  triggers: [{type: prometheus, metadata: {query: "sum(x)", serverAddress: "http://prometheus:9090/", threshold: 0.5, uptimeFilter: 'container="prometheus"', headers: {Authorization: secret-header}}}]
  autoscaler: {type: hpa, name: web}
status: {mode: serve, lastReconciledTime: "2026-03-01T11:59:00Z", lastScaledUpTime: "2026-03-01T11:59:00Z"}
`, `
apiVersion: elasti.truefoundry.com/v1alpha1
kind: ElastiService
metadata: {name: web, namespace: shop, uid: es-1}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: deployments, name: web}
  service: web
  minTargetReplicas: 1
  cooldownPeriod: 900
  enabledPeriod: {schedule: 0 20 * * *, duration: 10h}
  triggers: [{type: prometheus, metadata: {query: "sum(x)", serverAddress: "http://prometheus:9090", threshold: 0.5, uptimeFilter: 'container="prometheus"'}}]
  autoscaler: {type: hpa, name: web}
status: {mode: serve}
`},
	{"Rollout.argoproj.io", `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop, uid: ro-1}
spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {spec: {containers: [{name: web, env: [{name: X, value: secret-env}]}]}}, strategy: {canary: {steps: [{setWeight: 20}]}}}
status: {replicas: 4, message: secret-message}
`, `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop, uid: ro-1}
spec: {replicas: 4, selector: {matchLabels: {app: web}}}
`},
}

// Every custom kind is kept as far as scaling depends on it, and comes back from a snapshot, from changes and through
// an object log the same.
//
//scalehist:unraced
func TestCustomKinds(t *testing.T) {
	var kinds []string
	for _, gk := range objectlog.CustomKinds() {
		kinds = append(kinds, gk.String())
	}
	covered := map[string]bool{}
	for _, c := range customCases {
		covered[c.kind] = true
		t.Run(c.kind, func(t *testing.T) {
			given, want := custom(t, c.given), custom(t, c.want)
			if got := objectlog.KindOf(given); got != c.kind {
				t.Errorf("kind %q", got)
			}
			before := given.DeepCopy()
			path := writeFile(t, change(0, scalehist.OpAdd, given), change(time.Second, scalehist.OpUpdate, given), change(time.Hour, scalehist.OpDelete, given))
			if diff := cmp.Diff(before, given); diff != "" {
				t.Errorf("the given object was changed:\n%s", diff)
			}
			db := reopen(t, path)
			s := snapshotAt(t, db, time.Minute)
			if diff := cmp.Diff([]*unstructured.Unstructured{want}, s.Objects.Custom); diff != "" {
				t.Errorf("snapshot (-want +got):\n%s", diff)
			}
			key := given.GetKind() + "/" + given.GetName()
			if diff := cmp.Diff([]string{"0s add " + key, "1h0m0s delete " + key}, changes(t, db, time.Time{}, time.Time{})); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.Index(raw, []byte("secret-")); i >= 0 {
				t.Errorf("stored %.40q", raw[i:])
			}
			var log bytes.Buffer
			if err := transfer.Export(t.Context(), db, &log, time.Time{}, time.Time{}, transfer.ExportOptions{}); err != nil {
				t.Fatal(err)
			}
			again := importLog(t, &log, "log")
			first, err1 := db.Hash(t.Context())
			second, err2 := again.Hash(t.Context())
			if first != second || err1 != nil || err2 != nil {
				t.Errorf("hash %s, after the round trip %s (%v, %v)", first, second, err1, err2)
			}
			if diff := cmp.Diff([]*unstructured.Unstructured{want}, snapshotAt(t, again, time.Minute).Objects.Custom); diff != "" {
				t.Errorf("imported (-want +got):\n%s", diff)
			}
		})
	}
	for _, k := range kinds {
		if !covered[k] {
			t.Errorf("%s has no case", k)
		}
	}
}

// Two groups have a MachineDeployment: they do not share a name, and Reconcile ends only those of the kind it is given.
func TestCustomKindsDoNotMix(t *testing.T) {
	object := func(group string) *unstructured.Unstructured {
		return custom(t, fmt.Sprintf("apiVersion: %s\nkind: MachineDeployment\nmetadata: {name: a, namespace: n}\nspec: {replicas: 1}", group))
	}
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	if err := w.Write(t.Context(), []history.Entry{change(0, scalehist.OpAdd, object("machine.sapcloud.io/v1alpha1")),
		change(0, scalehist.OpAdd, object("cluster.x-k8s.io/v1beta1"))}); err != nil {
		t.Fatal(err)
	}
	gone, err := w.Reconcile(t.Context(), at(time.Minute), "MachineDeployment.cluster.x-k8s.io", nil)
	if err != nil || gone != 1 {
		t.Fatalf("reconciled %d, %v", gone, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	var got []string
	for _, d := range []time.Duration{0, time.Hour} {
		for _, o := range snapshotAt(t, db, d).Objects.Custom {
			got = append(got, d.String()+" "+o.GetAPIVersion())
		}
	}
	if diff := cmp.Diff([]string{"0s machine.sapcloud.io/v1alpha1", "0s cluster.x-k8s.io/v1beta1", "1h0m0s machine.sapcloud.io/v1alpha1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Replicas and status come and go without a new content.
func TestCustomStateSharesContent(t *testing.T) {
	object := func(replicas int) *unstructured.Unstructured {
		return custom(t, fmt.Sprintf("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, uid: np}\nspec: {weight: 1, replicas: %d}\nstatus: {nodes: %d}", replicas, replicas))
	}
	db := write(t, change(0, scalehist.OpAdd, object(1)), change(time.Second, scalehist.OpUpdate, object(2)))
	stats, err := db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.KindStats{{Kind: "NodePool.karpenter.sh", Objects: 1, Versions: 2, Contents: 1}}, stats.Kinds); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object(2), snapshotAt(t, db, time.Second).Objects.Custom[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResourceQuota(t *testing.T) {
	quota := func(used string) *corev1.ResourceQuota {
		q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}}}
		q.Name, q.Namespace, q.UID = "q", "default", uid(7)
		q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(used)}}
		return q
	}
	db := write(t, change(0, scalehist.OpAdd, quota("1")), change(time.Second, scalehist.OpUpdate, quota("2")))
	for d, want := range map[time.Duration]string{0: "1", time.Second: "2"} {
		got := snapshotAt(t, db, d).Objects.ResourceQuotas
		if len(got) != 1 || asJSON(got[0].Status) != fmt.Sprintf(`{"hard":{"pods":"10"},"used":{"pods":%q}}`, want) || !strings.Contains(asJSON(got[0].Spec), `"10"`) {
			t.Errorf("at %s: %s", d, asJSON(got))
		}
	}
	stats, err := db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.KindStats{{Kind: "ResourceQuota", Objects: 1, Versions: 2, Contents: 1}}, stats.Kinds); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}
