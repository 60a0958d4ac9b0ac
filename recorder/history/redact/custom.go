package redact

import (
	"math"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// custom rewrites an object of a provider: its metadata, then every text by the name of its field. A text whose field is not
// known is taken for a name, and a field that the providers' APIs do not have gets another name.
func (r *rewriter) custom(o *unstructured.Unstructured) {
	kind := o.GetKind()
	w := walk{r, kind}
	meta := metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Labels: o.GetLabels(),
		Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences()}
	w.meta(&meta, "")
	meta.CreationTimestamp, meta.DeletionTimestamp = o.GetCreationTimestamp(), o.GetDeletionTimestamp()
	version := r.apiVersion(o.GetAPIVersion())
	for _, k := range []string{"metadata", "apiVersion", "kind"} {
		delete(o.Object, k)
	}
	o.Object = r.customMap("", o.Object)
	o.SetAPIVersion(version)
	o.SetKind(kind) // one of those that a log has
	projection.SetMeta(o, meta)
}

// wordFields hold words of APIs.
var wordFields = words(`operator effect status phase severity state consolidationPolicy architecture updateStrategy orchestrationType
	policy type deletePolicy expander mode updateMode controlledValues changeRequirement metricType behavior selectPolicy
	offsetResetPolicy`)

// amountFields hold amounts: what else is in them is a name.
var amountFields = words(`duration consolidateAfter expireAfter terminationGracePeriod drainTimeout creationTimeout healthTimeout
	maxSurge maxUnavailable size minimum maximum priority weight nodes cpu memory scaleDownUtilizationThreshold scaleDownUnneededTime
	scaleDownUnreadyTime maxNodeProvisionTime scaleDownGpuUtilizationThreshold maxInFlight deletionOrder minHealthy
	replicas minReadySeconds progressDeadlineSeconds updatedReplicas upToDateReplicas readyReplicas availableReplicas
	unavailableReplicas fullyLabeledReplicas minValues observedGeneration partition nodeDrainTimeout nodeDeletionTimeout
	nodeVolumeDetachTimeout revisionHistoryLimit
	minReplicas evictAfterOOMSeconds oomBumpUpRatio oomMinBumpUp memoryAggregationIntervalSeconds memoryAggregationIntervalCount factor quantity
	durationSeconds totalWeight totalSamplesCount pollingInterval initialCooldownPeriod cooldownPeriod idleReplicaCount minReplicaCount
	maxReplicaCount originalReplicaCount pausedReplicaCount failureThreshold stabilizationWindowSeconds periodSeconds tolerance threshold
	activationThreshold targetValue activationTargetValue activationValue activationTarget queueLength activationQueueLength lagThreshold
	activationLagThreshold listLength activationListLength desiredReplicas minTargetReplicas maxReplicas`)

// plainFields are the other fields that the providers' APIs have where a history looks.
var plainFields = words(`spec status metadata template nodeTemplate machineTemplate selector matchLabels matchExpressions labels
	annotations nodeSelector key values value strategy rollingUpdate inPlaceUpdate remediation rollout paused class kind name namespace
	uid group apiVersion apiGroup machineClass providerID node nodeName conditions reason reasons message lastTransitionTime
	lastUpdateTime timeAdded lastOperation currentStatus timeoutActive errorCode capacity virtualCapacity allocatable limits resources
	requests instanceType machineType region zone zones failureDomain provider pools machineDeployments taints startupTaints
	clusterAutoscaler kubernetesVersion version machineImage volume clusterName infrastructureRef nodeClassRef requirements disruption
	budgets schedule
	targetRef scaleTargetRef updatePolicy evictionRequirements resourcePolicy containerPolicies containerName minAllowed maxAllowed
	controlledResources recommenders startupBoost recommendation containerRecommendations target lowerBound upperBound uncappedTarget
	vpaObjectName cpuHistogram memoryHistogram referenceTimestamp bucketWeights firstSampleStart lastSampleStart
	fallback advanced restoreToOriginalReplicaCount horizontalPodAutoscalerConfig scalingModifiers formula hpaName triggers
	useCachedMetrics authenticationRef service enabledPeriod autoscaler policies scaleUp scaleDown
	query metricName serverAddress host url ignoreNullValues unsafeSsl start end timezone uptimeFilter queueName topic consumerGroup
	allowIdleConsumers limitToPartitionsWithLag excludePersistentLag scaleToZeroOnInvalidOffset listName valueLocation aggregation
	podSelector workloadSelector`)

// resourceFields are lists of resources, labelFields of labels.
var (
	resourceFields = words(`capacity virtualCapacity allocatable limits resources requests minAllowed maxAllowed target lowerBound upperBound
		uncappedTarget`)
	labelFields = words(`labels matchLabels nodeSelector`)
)

// zoneFields are values of topology labels.
var zoneFields = map[string]string{"zone": corev1.LabelTopologyZone, "zones": corev1.LabelTopologyZone,
	"failureDomain": corev1.LabelTopologyZone, "region": corev1.LabelTopologyRegion}

// instantFields are times.
var instantFields = words(`referenceTimestamp firstSampleStart lastSampleStart`)

var (
	// scheduleForm is a time table of cron, in numbers.
	scheduleForm = regexp.MustCompile(`^(?:@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)|` + cronField + `(?: ` + cronField + `){4})$`)
	// instantForm is a time as the API server writes it.
	instantForm = regexp.MustCompile(`^` + timePattern + `$`)
)

const cronField = `(?:\*|\d{1,2})(?:[-/,]\d{1,2}){0,12}`

// customField keeps the name of a field that the providers' APIs have.
func (r *rewriter) customField(name string) string {
	if wordFields[name] || amountFields[name] || plainFields[name] {
		return name
	}
	return r.name("field", name)
}

// customValue rewrites a value of a field; key is the label key that the values beside it belong to.
func (r *rewriter) customValue(field, key string, v any) any {
	switch v := v.(type) {
	case string:
		return r.customText(field, key, v)
	case []any:
		for i := range v {
			v[i] = r.customValue(field, key, v[i])
		}
	case map[string]any:
		return r.customMap(field, v)
	case int64:
		if (amountFields[field] || wordFields[field]) && v >= math.MinInt32 && v <= math.MaxInt32 {
			return v
		}
		return int64(0)
	case float64:
		if amountFields[field] && math.Abs(v) <= math.MaxInt32 {
			return v
		}
		return float64(0)
	}
	return v // true, false, null
}

func (r *rewriter) customMap(field string, m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	if field == "bucketWeights" {
		return r.buckets(m)
	}
	if labelFields[field] || field == "annotations" || resourceFields[field] {
		for k, v := range m {
			s, ok := v.(string)
			switch {
			case resourceFields[field]:
				out[r.resource(k)] = r.customResource(k, v)
			case !ok:
				out[r.labelKey(k)] = r.customValue("value", k, v)
			case field == "annotations":
				out[r.labelKey(k)] = r.annotation(k, s)
			default:
				out[r.labelKey(k)] = r.labelValue(k, s)
			}
		}
		return out
	}
	key, _ := m["key"].(string)
	if op, _ := m["operator"].(string); op == "Gt" || op == "Lt" {
		r.numeric[key] = true
	}
	_, condition := m["lastTransitionTime"]
	for k, v := range m {
		if t, ok := v.(string); ok && condition && k == "type" {
			out[k] = r.open("condition", t, openConditions)
			continue
		}
		out[r.customField(k)] = r.customValue(k, key, v)
	}
	return out
}

// buckets are the weights of a histogram by the number of the bucket.
func (r *rewriter) buckets(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if !isSmall(k) {
			k = r.name("field", k)
		}
		out[k] = r.customValue("size", "", v)
	}
	return out
}

// customResource is an amount of a resource.
func (r *rewriter) customResource(name string, v any) any {
	switch v := v.(type) {
	case string:
		if isAmount(v) || inBytes[name] && quantityForm.MatchString(v) {
			return v
		}
		return r.name("amount", v)
	case int64, float64:
		if inBytes[name] {
			return v
		}
		return r.customValue("size", "", v)
	}
	return r.customValue("", "", v)
}

func (r *rewriter) customText(field, key, s string) string {
	switch {
	case s == "", plainValues[s]:
		return s
	case field == "values" || field == "value":
		return r.labelValue(key, s)
	case s == caflags.Masked: // what a history writes for what may be a secret
		return s
	case field == "controlledResources" || field == "resources":
		return r.resource(s)
	case instantFields[field]:
		if instantForm.MatchString(s) {
			return s
		}
		return r.text(s)
	case field == "containerName":
		return r.name("container", s)
	case field == "vpaObjectName":
		return r.name("verticalpodautoscaler", s)
	case field == "metricName":
		return r.open("series", s, openSeries)
	case field == "query" || field == "formula" || field == "uptimeFilter" || field == "serverAddress":
		return r.text(s)
	case (field == "start" || field == "end") && scheduleForm.MatchString(s):
		return s
	case field == "lastTransitionTime" || field == "lastUpdateTime" || field == "timeAdded":
		if instantForm.MatchString(s) {
			return s
		}
		return r.text(s)
	case wordFields[field]:
		if field == "type" && openSchemes[s] {
			return s
		}
		return r.enumeration(s)
	case field == "schedule" && scheduleForm.MatchString(s), amountFields[field] && (isAmount(s) || s == "Never"):
		return s
	case field == "version" || field == "kubernetesVersion":
		return r.release("version", s)
	case field == "machineType" || field == "instanceType":
		return r.labelValue(corev1.LabelInstanceTypeStable, s)
	case field == "errorCode":
		return r.code(s)
	case field == "key":
		return r.labelKey(s)
	case zoneFields[field] != "":
		return r.labelValue(zoneFields[field], s)
	case field == "reason" || field == "reasons":
		if apiWords[s] {
			return s
		}
		return r.open("reason", s, openReasons)
	case field == "kind":
		return r.open("kind", s, openKinds)
	case field == "apiVersion":
		return r.apiVersion(s)
	case field == "group" || field == "apiGroup":
		return r.open("api group", s, openGroups)
	case field == "providerID":
		return r.providerID(s)
	case field == "node" || field == "nodeName":
		return r.name("node", s)
	case field == "uid":
		return string(r.uid(types.UID(s)))
	case field == "provider":
		return r.open("provider", s, openSchemes)
	case strings.ContainsAny(s, " \n\t"):
		return r.text(s)
	}
	return r.name("name", s)
}
