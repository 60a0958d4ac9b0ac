package objectlog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// TestImpossibleValuesNameTheirLine: values that no cluster has are refused with file, line and key.
func TestImpossibleValuesNameTheirLine(t *testing.T) {
	const at = "2026-01-01T00:00:01Z"
	group := func(spec string) string {
		return line(at, `{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{`+spec+`}}`)
	}
	pod := func(spec string) string {
		return line(at, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{`+spec+`}}`)
	}
	record := func(kind, spec string) string {
		return line(at, `{"apiVersion":"scalehist.io/v1alpha1","kind":"`+kind+`","metadata":{"name":"r"},"spec":{`+spec+`}}`)
	}
	for _, c := range []struct{ name, line, want string }{
		{"target size", group(`"maxSize":2147483647,"targetSize":2147483647`), `NodeGroup g): key "spec.targetSize": 2147483647 nodes are more than the 100000`},
		{"a million", group(`"maxSize":1000000,"targetSize":1000000`), `key "spec.targetSize": 1000000 nodes are more`},
		{"min size", group(`"minSize":200000,"maxSize":1000000`), `key "spec.minSize": 200000 nodes are more`},
		{"negative size", group(`"maxSize":-1`), `key "spec.maxSize": -1 is negative`},
		{"template", group(`"maxSize":1,"template":{"status":{"allocatable":{"cpu":"-4"}}}`), `key "spec.template.status.allocatable.cpu": -4 is negative`},
		{"request", pod(`"containers":[{"name":"a"},{"name":"b","resources":{"requests":{"cpu":"1","memory":"-1Gi"}}}]`), `Pod p): key "spec.containers[1].resources.requests.memory": -1Gi is negative`},
		{"init request", pod(`"initContainers":[{"name":"a","resources":{"limits":{"cpu":"-1"}}}]`), `key "spec.initContainers[0].resources.limits.cpu": -1 is negative`},
		{"overhead", pod(`"overhead":{"cpu":"-250m"}`), `key "spec.overhead.cpu": -250m is negative`},
		{"pod template", line(at, `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"-1"}}}]}}}}`),
			`DaemonSet d): key "spec.template.spec.containers[0].resources.requests.cpu": -1 is negative`},
		{"node", line(at, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"capacity":{"pods":"-1"}}}`), `key "status.capacity.pods": -1 is negative`},
		{"claim", line(at, `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},"spec":{"resources":{"requests":{"storage":"-1Gi"}}}}`), `key "spec.resources.requests.storage"`},
		{"inverted recording", record("Recording", `"to":"2025-01-01T00:00:00Z"`), `Recording r): key "spec.to": 2025-01-01T00:00:00Z is before the line's time 2026-01-01T00:00:01Z`},
		{"endless recording", record("Recording", `"to":"2126-01-01T00:00:00Z"`), `key "spec.to": 2126-01-01T00:00:00Z is more than ten years after`},
		{"inverted gap", record("Gap", `"to":"2025-01-01T00:00:00Z","why":"x"`), `Gap r): key "spec.to"`},
		{"usage", record("Usage", `"container":"c","cpuMilli":-1,"memoryBytes":1`), `usage is 0 or more`},
		{"not UTF-8", strings.Replace(pod(`"nodeName":"n?"`), "?", "\xff", 1), `is not UTF-8`},
		{"NUL in a name", line(at, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a\u0000b"}}`), `key "object.metadata.name" has a NUL in it`},
		{"NUL in a key", line(at, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"a\u0000b":""}}}`), `has a NUL in it`},
		{"key twice", line(at, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","name":"b"},"spec":{}}`), `Pod b): key "metadata.name" is there twice`},
		{"label twice", line(at, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"l":"1","l":"2"}}}`), `key "metadata.labels.l" is there twice`},
		{"custom key twice", line(at, `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"a"},"spec":{"weight":1,"weight":2}}`), `NodePool a): key "spec.weight" is there twice`},
		{"line's key twice", `{"at":"2026-01-01T00:00:01Z","at":"2026-01-01T00:00:02Z","op":"add","object":{}}`, `key "at" is there twice`},
		{"stray year", line("2226-01-01T00:00:00Z", fmt.Sprintf(namespace, "b")), `key "at": 2226-01-01T00:00:00Z is more than ten years from 2026-01-01T00:00:00Z, of a line before`},
		{"stray year before", line("1970-01-01T00:00:00Z", fmt.Sprintf(namespace, "b")), `key "at": 1970-01-01T00:00:00Z is more than ten years from`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readAll(t, strings.NewReader(line("2026-01-01T00:00:00Z", fmt.Sprintf(namespace, "a"))+"\n"+c.line+"\n"))
			var located *objectlog.Error
			if !errors.As(err, &located) || located.Line != 2 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want line 2: %s", err, c.want)
			}
		})
	}
	for _, fine := range []string{group(`"maxSize":2147483647,"targetSize":100000`), pod(`"containers":[{"name":"a","resources":{"requests":{"cpu":"0"}}}]`),
		line(at, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"message":"printed \u0000 by a program"}`), pod(`"nodeName":"a\\u0000b"`),
		record("Recording", `"to":"2027-01-01T00:00:00Z"`), record("Recording", ``), strings.Replace(pod(`"overhead":{"cpu":"-1"}`), `"op":"add"`, `"op":"delete"`, 1)} {
		if _, _, err := readAll(t, strings.NewReader(fine+"\n")); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
}
