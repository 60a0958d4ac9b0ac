package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plaintext"
	reports "github.com/scalehist/scalehist/report"
)

// hostileFiles makes files of every kind a command reads, with evil in every text they have. HISTORY is one that can be replayed: evil in
// what the API server does not look at; in NAMES it is in names as well.
func hostileFiles(t *testing.T) map[string]string {
	t.Helper()
	const name = "ca-burst-two-sizes"
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return in(name)
	}
	must := func(args ...string) {
		t.Helper()
		if code, _, errs := run(t, t.Context(), args...); code == console.ExitFailed {
			t.Fatalf("%q: %s", args, errs)
		}
	}
	log := in("log.jsonl")
	must("export", fixture(name), "-o", log)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	texts := write("texts.jsonl", spoiledLog(t, b, func(key string) bool {
		return slices.Contains([]string{"message", "machineType", "note", "status"}, key)
	}))
	names := write("names.jsonl", spoiledLog(t, b, func(key string) bool {
		return !slices.Contains([]string{"apiVersion", "kind", "phase", "type", "op", "restartPolicy", "operator", "effect", "uid", "status", "at", "reason"}, key)
	}))
	must("import", texts, "-o", in("texts.db"), "--cluster", evil)
	must("import", names, "-o", in("names.db"))
	must("replay", fixture(name), "--control-plane", "memory", "--report-dir", in("plain"))
	r, err := reports.Read(in("plain/report.json"))
	if err != nil {
		t.Fatal(err)
	}
	spoil(reflect.ValueOf(r).Elem())
	r.Version = scalehist.ReportVersion
	if err := reports.Save(in("evil"), r); err != nil {
		t.Fatal(err)
	}
	r.Decisions = r.Decisions[1:]
	r.Pending.PodSeconds *= 3
	r.Pending.Max += 1000
	if err := reports.Save(in("other"), r); err != nil {
		t.Fatal(err)
	}
	line := quoted(t, evil)
	return map[string]string{
		"HISTORY": in("texts.db"), "NAMES": in("names.db"), "NAMESLOG": names, "REPORT": in("evil"), "OTHER": in("other"), "PLAIN": in("plain"),
		"DIR": in("evil"), "OTHERDIR": in("other"), "PLAINDIR": in("plain"), "GROUP": r.NodeGroups[0].Name,
		"POD":         r.Start.ScheduledPods[0].Namespace + "/" + r.Start.ScheduledPods[0].Name,
		"BADLOG":      write("bad.jsonl", `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":`+line+`,"metadata":{"name":`+line+`}}}`+"\n"+`{"at":`+line+"}\n"),
		"POLICY":      write("policy.yaml", "limits:\n  pending.max: +0s\n  pending.pod-seconds: +0s\n"),
		"BADPOLICY":   write("bad.yaml", "limits:\n  "+line+": +0s\n"),
		"SCENARIO":    write("scenario.yaml", "name: "+line+"\ndescription: "+line+"\nhistory: "+in("texts.db")+"\nexpect:\n  scaledUp: {std4: 77}\n"),
		"BADSCENARIO": write("badscenario.yaml", "name: x\nhistory: "+line+"\n"+line+": 1\nexpect:\n  scaledUp: {"+line+": 77}\n"),
		"CONFIG":      write("config.yaml", line+": "+line+"\n"),
		"CLUSTERS":    write("clusters.yaml", "clusters:\n- name: "+line+"\n  kubeconfig: "+line+"\n- name: a\n  kubeconfig: "+line+"\n  context: "+line+"\n"),
		"KUBECONFIG":  write("kubeconfig", `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: `+line+`}}]}`),
		"TRUTH":       write("truth.json", `{"scenario":`+line+`,"flags":[`+line+`],"runs":[]}`),
		"PRICES":      write("prices.yaml", "currency: "+line+"\nmachines: {"+line+": 1}\n"),
		"SNAPSHOT":    write("snapshot.json", `{"apiVersion":`+line+`,`+line+`:1}`),
		"CASES":       write("cases.jsonl", `{"name":`+line+`,"category":`+line+`}`+"\n"),
	}
}

// quoted is a text as JSON and YAML take it.
func quoted(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := plaintext.New(&b, false)
	if err := json.NewEncoder(w.As(plaintext.JSON)).Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// spoiledLog puts evil behind the strings of an object log that are under a key that may have it.
func spoiledLog(t *testing.T, log []byte, may func(key string) bool) string {
	t.Helper()
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		line["object"] = spoiledJSON("", line["object"], may)
		if err := json.NewEncoder(&out).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func spoiledJSON(key string, v any, may func(key string) bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = spoiledJSON(k, e, may)
		}
	case []any:
		for i, e := range v {
			v[i] = spoiledJSON(key, e, may)
		}
	case string:
		_, notTime := time.Parse(time.RFC3339, v)
		_, notQuantity := resource.ParseQuantity(v)
		_, notDuration := time.ParseDuration(v)
		if may(key) && notTime != nil && notQuantity != nil && notDuration != nil && !strings.HasPrefix(v, "--") {
			return v + evil
		}
	}
	return v
}

// spoil puts evil behind every string that can be reached from v; a type of its own is a word of ours.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.CanSet() {
			v.SetString(v.String() + evil)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				spoil(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if k.Type() != reflect.TypeFor[string]() {
				continue
			}
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			spoil(e)
			v.SetMapIndex(k, reflect.Value{})
			v.SetMapIndex(reflect.ValueOf(k.String()+evil), e)
		}
	}
}
