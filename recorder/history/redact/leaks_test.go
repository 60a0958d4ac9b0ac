package redact

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// imported is a history of an object log's lines.
func imported(t *testing.T, lines ...string) string {
	t.Helper()
	src := filepath.Join(t.TempDir(), "src.db")
	if _, err := transfer.Import(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), src, transfer.ImportOptions{Name: "log"}); err != nil {
		t.Fatal(err)
	}
	return src
}

func logLine(object string) string {
	return `{"at":"2026-01-05T08:00:00Z","op":"add","object":` + object + `}`
}

// eventLine is an event of the cluster-autoscaler with a message.
func eventLine(message string) string {
	return logLine(fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"kube-system","uid":"e1"},"reason":"ScaledUpGroup","message":%s,`+
		`"type":"Normal","count":1,"source":{"component":"cluster-autoscaler"},"involvedObject":{"kind":"Pod","namespace":"kube-system","name":"p"},`+
		`"firstTimestamp":"2026-01-05T08:00:00Z","lastTimestamp":"2026-01-05T08:00:00Z"}`, quoted(message)))
}

// statusLine is the autoscaler's status ConfigMap with one key.
func statusLine(key, value string) string {
	return logLine(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cluster-autoscaler-status","namespace":"kube-system"},"data":{%s:%s}}`,
		quoted(key), quoted(value)))
}

// commandLine is a Deployment of the autoscaler with an image's tag and arguments.
func commandLine(tag, args string) string {
	return logLine(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"ca","namespace":"kube-system"},"spec":{"template":{"spec":{"containers":[`+
		`{"name":"cluster-autoscaler","image":"r/cluster-autoscaler:%s","args":[%s]}]}}}}`, tag, args))
}

// nodeLine is a node with more fields at its end.
func nodeLine(more string) string {
	if !strings.Contains(more, `"metadata"`) {
		more = `,"metadata":{"name":"n1"}` + more
	}
	return logLine(`{"apiVersion":"v1","kind":"Node"` + more + `}`)
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text has a JSON form
	}
	return string(b)
}

// TestLeaks: what an attack found in redacted histories, and what is of the same kind. Each line has a secret; the copy does not.
//
//scalehist:unraced
func TestLeaks(t *testing.T) {
	const account = "123456789012"
	record := func(kind, spec string) string {
		return logLine(`{"apiVersion":"scalehist.io/v1alpha1","kind":"` + kind + `","metadata":{"name":"1"},"spec":{` + spec + `}}`)
	}
	sample := func(name, labels string) string {
		return logLine(`{"apiVersion":"scalehist.io/v1alpha1","kind":"Sample","metadata":{"name":"` + name + `"},"spec":{"labels":{` + labels + `},"value":1}}`)
	}
	pool := func(spec string) string {
		return logLine(`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"p"},"spec":{` + spec + `}}`)
	}
	for _, c := range []struct{ name, line, secret string }{
		{"query in a recording's kinds", record("Recording", `"to":"2026-01-05T08:00:30Z","kinds":["Pod","Query:zqquery"]`), ""},
		{"query in a gap's kinds", record("Gap", `"to":"2026-01-05T08:00:30Z","kinds":["Query:zqquery"],"why":"x"`), ""},
		{"unknown kind in a recording's kinds", record("Recording", `"to":"2026-01-05T08:00:30Z","kinds":["Zqkind.zqgroup"]`), ""},

		{"clock in a message", eventLine("Scale-up: group g size set to 2 instead of 1 (max: 5) m=zqclock"), ""},
		{"clock in a reason", eventLine("pod didn't trigger scale-up: 1 m=zqclock"), ""},
		{"clock in a status", statusLine("status", "Cluster-wide:\n  Health:      Healthy (ready=1)\n               LastTransitionTime: 2026-01-05 08:00:00 +0000 UTC m=zqclock"), ""},
		{"clock in a status's line", statusLine("status", "autoscalerStatus: Running m=zqclock"), ""},
		{"time in a status", statusLine("status", "nodeGroups:\n- name: g\n  health:\n    lastTransitionTime: 2026-01-05Tzq:"), "2026-01-05Tzq"},
		{"long date in a message", eventLine("Scale-down: node n removed with drain 2026-01-05T12.34.56.78"), "12.34.56.78"},
		{"number in a message", eventLine("Scale-up: setting group g size to 2 instead of 1 (max: 5) 87654321"), "87654321"},
		{"amount in a message", eventLine("Scale-up failed for group g 8765432k"), "8765432k"},
		{"ratio in a message", eventLine("Failed to scale-up group g 123456789/987654321"), "123456789/987654321"},
		{"step in a message", eventLine("pod triggered scale-up: [{g 1->2 (max: 5)}] 123456789->987654321"), "123456789->987654321"},
		{"duration in a message", eventLine("Nodes added to group g failed to register within 123456789012h"), account},
		{"account in a message's number", eventLine("Failed adding " + account + " nodes to group g due to a.b; source errors: x"), account},
		{"account in a step", eventLine("pod triggered scale-up: [{g 1->" + account + " (max: 5)}]"), account},
		{"text after a taint's effect", eventLine("0/3 nodes are available: 3 node(s) had untolerated taint {dedicated: web:zqeffect}."), ""},
		{"text after a taint's value", eventLine("pod didn't trigger scale-up: 1 node(s) had untolerated taint {dedicated=web:NoSchedule:zqeffect}"), ""},
		{"words of sentences in another order", eventLine("pod triggered scale-up: the Running GPU was out of stock, zone aborting 443"), "out of stock"},
		{"code of a failure", eventLine("Failed adding 1 nodes (1 unseen previously) to group g due to OutOfResources.zqcode; source errors: zqx"), ""},
		{"key of words", eventLine("Removed unregistered node zqnode=Running"), ""},
		{"message of a condition", logLine(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c"}]},"status":{"conditions":[{"type":"PodScheduled","status":"False","message":"0/87654321 nodes are available: 87654321 m=zqclock."}]}}`), ""},

		{"argument that begins with a dash", commandLine("v1.30.0", `"--zqsecret"`), ""},
		{"name of an unknown flag", commandLine("v1.30.0", `"--zqflag=1"`), ""},
		{"range of a flag", commandLine("v1.30.0", `"--nodes=zqmin:5:g"`), ""},
		{"amount of a flag", commandLine("v1.30.0", `"--gpu-total=nvidia.com/gpu:zqmin:zqmax"`), ""},
		{"text of a flag", commandLine("v1.30.0", `"--cloud-provider=zqcloud","--feature-gates=ZqGate=true","--expander=zqexpander"`), ""},
		{"account of a flag", commandLine("v1.30.0", `"--cluster-name=`+account+`"`), account},
		{"suffix of a tag", commandLine("v1.30.0-zqbuild", ``), ""},
		{"dotted suffix of a tag", commandLine("v1.30.zqbuild", ``), ""},

		{"driver in a resource", nodeLine(`,"status":{"allocatable":{"attachable-volumes-csi-zqdriver.zqcorp":"25","cpu":"1"}}`), ""},
		{"size in a resource", nodeLine(`,"status":{"allocatable":{"hugepages-zqsize":"1","cpu":"1"}}`), ""},
		{"provider's resource", nodeLine(`,"status":{"allocatable":{"nvidia.com/zqgpu":"1","cpu":"1"}}`), ""},
		{"account as a label", nodeLine(`,"metadata":{"name":"n1","labels":{"x":"` + account + `"}}`), account},
		{"account in groups of digits", nodeLine(`,"metadata":{"name":"n1","labels":{"x":"123-456-789-012"}}`), "123-456-789-012"},
		{"account as an annotation", logLine(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","annotations":{"cluster-autoscaler.kubernetes.io/account":"` + account + `"}}}`), account},
		{"account with a unit as an annotation", logLine(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","annotations":{"scalehist.io/run-for":"` + account + `s"}}}`), account},
		{"account as a sample's label", sample("load", `"job":"`+account+`"`), account},
		{"account that is compared", logLine(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c"}],"tolerations":[{"key":"account","operator":"Gt","value":"` + account + `"}]}}`), account},
		{"account in a pool", pool(`"weight":1,"disruption":{"consolidateAfter":"` + account + `s"}`), account},
		{"account as a number of a pool", pool(`"weight":1,"disruption":{"account":` + account + `}`), account},
		{"account in a life", logLine(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","uid":"Namespace/n#` + account + `"}}`), account},

		{"key of the status ConfigMap", statusLine("zqkey", "zqvalue"), ""},
		{"key in the status", statusLine("status", "autoscalerStatus: Running\nzqkey: Healthy"), ""},
		{"code in the status", statusLine("status", "nodeGroups:\n- name: g\n  scaleUp:\n    backoffInfo:\n      errorCode: zqcode"), ""},
		{"series of nodes", sample("node_zqseries", ``), ""},
		{"series of Kubernetes", sample("kube_zqseries", ``), ""},

		{"label key of a provider", nodeLine(`,"metadata":{"name":"n1","labels":{"worker.gardener.cloud/zqkey":"x"}}`), ""},
		{"machine type that nobody sells", nodeLine(`,"metadata":{"name":"n1","labels":{"node.kubernetes.io/instance-type":"zqtype"}}`), ""},
		{"phase", logLine(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"},"status":{"phase":"ZqPhase"}}`), ""},
		{"effect in an annotation", nodeLine(`,"metadata":{"name":"n1","annotations":{"capacity.cluster-autoscaler.kubernetes.io/taints":"a=b:zqeffect"}}`), ""},
		{"enumeration of a pool", pool(`"disruption":{"consolidationPolicy":"ZqPolicy","budgets":[{"schedule":"@zqdaily"}]}`), ""},
		{"field of a pool", pool(`"disruption":{"zqfield":"x"}`), ""},
		{"version of an owner", logLine(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n","ownerReferences":[{"apiVersion":"apps/zqversion","kind":"ReplicaSet","name":"r","uid":"u"}]},"spec":{"containers":[{"name":"c"}]}}`), ""},
		{"percentage", logLine(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p","namespace":"n"},"spec":{"minAvailable":"zqpercent"}}`), ""},
		{"zone of an address", logLine(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","ports":[{"hostPort":1,"containerPort":1,"hostIP":"::1%zqzone"}]}]}}`), ""},
		{"declared feature", nodeLine(`,"status":{"declaredFeatures":["ZqFeature"]}`), ""},
		{"file system", logLine(`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"p"},"spec":{"gcePersistentDisk":{"pdName":"d","fsType":"zqfs"}}}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			secret := c.secret
			if secret == "" {
				secret = "zq"
			}
			src := imported(t, logLine(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}`), c.line)
			kept := strings.Contains(strings.ToLower(exported(t, src)), strings.ToLower(secret))
			if !kept && !strings.HasPrefix(c.name, "argument") && !strings.HasPrefix(c.name, "name of") && !strings.HasPrefix(c.name, "range of") && !strings.HasPrefix(c.name, "amount of a flag") {
				t.Errorf("the history itself does not have %q, so nothing is shown", secret)
			}
			dst, _ := redacted(t, src, Options{})
			if after := dump(t, dst); strings.Contains(strings.ToLower(after), strings.ToLower(secret)) {
				t.Errorf("%q is in the redacted copy:\n%s", secret, exported(t, dst))
			}
		})
	}
}
