package projection

import (
	"net/url"

	"github.com/scalehist/scalehist/internal/caflags"
)

// triggerTexts are the keys of a trigger's metadata whose values decide what scales, and are stored as they are but for
// what looks like a credential: https://keda.sh/docs/latest/scalers/ and, of Elasti, its Prometheus scaler. It is the
// rule of the cluster-autoscaler's flags: known, and deciding, or not a secret; every other value is "***".
var triggerTexts = stringSet("query", "metricName", "namespace", "threshold", "activationThreshold", "ignoreNullValues", "unsafeSsl", "type", "value",
	"activationValue", "containerName", "start", "end", "timezone", "desiredReplicas", "uptimeFilter", "mode", "queueName", "queueLength",
	"activationQueueLength", "topic", "consumerGroup", "lagThreshold", "activationLagThreshold", "offsetResetPolicy",
	"allowIdleConsumers", "limitToPartitionsWithLag", "excludePersistentLag", "scaleToZeroOnInvalidOffset", "listLength", "listName",
	"activationListLength", "targetValue", "activationTargetValue", "valueLocation", "aggregation", "podSelector", "workloadSelector",
	"kind", "name", "apiVersion", "metricType", "minReplicas", "maxReplicas", "hpaName")

// triggerAddresses are the keys whose values are URLs: of them the scheme and the host are stored. A path, a query and
// what is before an @ may be credentials.
var triggerAddresses = stringSet("serverAddress", "host", "url")

func stringSet(keys ...string) map[string]bool {
	out := make(map[string]bool, len(keys))
	for _, k := range keys {
		out[k] = true
	}
	return out
}

// keptTrigger is what may be stored of a trigger's metadata: plain texts, of which those that may be secrets are masked.
// It is the same again for what was kept. Headers, which Elasti has as an object, are not kept.
func keptTrigger(v any) (any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	out := map[string]any{}
	for k, v := range m {
		switch s, text := v.(string); {
		case triggerTexts[k] && text:
			out[k] = caflags.WithoutCredentials(s)
		case triggerTexts[k] && isScalar(v):
			out[k] = copyJSON(v)
		case triggerAddresses[k] && text:
			out[k] = keptAddress(s)
		case text && knownTriggerKey(k):
			out[k] = caflags.Masked
		}
	}
	return out, true
}

// knownTriggerKey says whether the name of a key may be stored: one that is spelled as those of KEDA's scalers are. A
// name with digits or signs in it may be anything.
func knownTriggerKey(k string) bool {
	if k == "" || len(k) > 64 {
		return false
	}
	for _, c := range k {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

func isScalar(v any) bool {
	switch v.(type) {
	case bool, int64, float64, int, int32:
		return true
	}
	return false
}

// keptAddress is the scheme and the host of a URL, else a mask.
func keptAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return caflags.Masked
	}
	return u.Scheme + "://" + u.Host
}
