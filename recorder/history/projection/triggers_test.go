package projection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTriggersKeepNoSecret: whatever a trigger's metadata is, a value that is not known to decide what scales is masked,
// and of an address nothing is kept but the host.
func TestTriggersKeepNoSecret(t *testing.T) {
	const secret = "s3cr3t"
	rapid.Check(t, func(t *rapid.T) {
		in := map[string]any{}
		for i := range rapid.IntRange(1, 6).Draw(t, "keys") {
			key := rapid.OneOf(rapid.SampledFrom(slices.Sorted(maps.Keys(triggerAddresses))),
				rapid.SampledFrom([]string{"password", "customHeaders", "connection", "token", "apiKey" + secret, "a b", "headers"}),
				rapid.StringMatching(`[a-zA-Z0-9_]{0,70}`)).Draw(t, "key")
			if triggerTexts[key] {
				continue
			}
			in[key] = rapid.SampledFrom([]any{secret, "https://" + secret + "@host/x", "https://u:" + secret + "@host", "https://host/" + secret + "?x=" + secret,
				"amqp://" + secret + "@host", map[string]any{"a": secret}, []any{secret}, int64(i)}).Draw(t, "value")
		}
		for _, k := range []string{"query", "namespace"} {
			in[k] = "password=" + secret + " https://u:" + secret + "@h"
		}
		out, _ := keptTrigger(in)
		if text := fmt.Sprint(out); strings.Contains(text, secret) {
			t.Fatalf("%v keeps %s", in, text)
		}
	})
}
