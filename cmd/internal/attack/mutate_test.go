package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// read gives the first source of a kind that is a file.
func read(t *testing.T, k kind) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../..", files[k][0]))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const logLine = `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"kind":"NodeGroup","spec":{"minSize":1,"maxSize":5,"machine":"m"}}}` + "\n"

// TestMutatorsAreSeeded: a seed is one input, whatever was done before, and the source stays as it was.
func TestMutatorsAreSeeded(t *testing.T) {
	inputs := map[kind][]byte{logKind: []byte(strings.Repeat(logLine, 10) + strings.ReplaceAll(strings.Repeat(logLine, 10), `"m"`, `"n"`)), requestKind: []byte(logLine)}
	for k := range files {
		inputs[k] = read(t, k)
	}
	for k, in := range inputs {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			before := bytes.Clone(in)
			for i, m := range mutators(k) {
				did := false
				for seed := range uint64(6) {
					first, what := m(rand.New(rand.NewPCG(seed, 0)), in)
					second, again := m(rand.New(rand.NewPCG(seed, 0)), in)
					if !bytes.Equal(first, second) || what != again {
						t.Errorf("mutator %d, seed %d: %s and %s", i, seed, what, again)
					}
					did = did || !bytes.Equal(first, in)
				}
				if !did {
					t.Errorf("mutator %d of %s breaks nothing with six seeds", i, k)
				}
				if !bytes.Equal(in, before) {
					t.Fatalf("mutator %d changes what it is given", i)
				}
			}
		})
	}
}

// TestMutatorsTakeAnything: what one mutator leaves, another is given.
func TestMutatorsTakeAnything(t *testing.T) {
	for k := range map[kind]bool{historyKind: true, logKind: true, reportKind: true, scenarioKind: true} {
		for _, in := range [][]byte{nil, {}, []byte("x"), []byte("\n"), []byte("{}"), bytes.Repeat([]byte{0}, 3*page), []byte("SQLite format 3\x00")} {
			for _, m := range mutators(k) {
				for seed := range uint64(4) {
					m(rand.New(rand.NewPCG(seed, 0)), in)
				}
			}
		}
	}
}

// TestPlanIsSeeded: and other seeds are other attacks.
func TestPlanIsSeeded(t *testing.T) {
	from := sources{}
	for _, k := range []kind{logKind, requestKind, reportKind, truthKind, answerKind, strategiesKind} {
		from[k] = []source{{"a", []byte(logLine)}, {"b", bytes.Repeat([]byte(logLine), 3)}}
	}
	for k := range files {
		if from[k] == nil {
			from[k] = []source{{files[k][0], read(t, k)}}
		}
	}
	commands := map[string]bool{}
	for seed := range uint64(60) {
		a, b := plan(seed, from, ""), plan(seed, from, "")
		if a.Command != b.Command || a.Source != b.Source || !bytes.Equal(a.input, b.input) || a.Delivery != b.Delivery {
			t.Errorf("seed %d: %+v and %+v", seed, a, b)
		}
		commands[a.Command] = true
	}
	if len(commands) < 20 {
		t.Errorf("60 seeds attack %d commands", len(commands))
	}
}
