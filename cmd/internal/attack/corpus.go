package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// entry is attack.json of a folder of the corpus; the input lies beside it. A finding is kept in the same form.
type entry struct {
	attack
	// Wrong is what was wrong when it was found.
	Wrong []string `json:"wrong"`
}

// inputFile is the input of an entry.
const inputFile = "input"

// keep writes an attack and what it showed to a folder of its own below dir, and gives that.
func keep(dir string, a attack, wrong []string) (string, error) {
	to := filepath.Join(dir, fmt.Sprint("seed-", a.Seed))
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(entry{a, wrong}, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(to, "attack.json"), append(data, '\n'), 0o644); err != nil {
		return "", err
	}
	return to, os.WriteFile(filepath.Join(to, inputFile), a.input, 0o644)
}

// recall reads what keep wrote.
func recall(dir string) (attack, error) {
	data, err := os.ReadFile(filepath.Join(dir, "attack.json"))
	if err != nil {
		return attack{}, err
	}
	var e entry
	if err := json.Unmarshal(data, &e); err != nil {
		return attack{}, fmt.Errorf("%s: %w", dir, err)
	}
	var ok bool
	if e.target, ok = find(e.Command); !ok {
		return attack{}, fmt.Errorf("%s: there is no target %q: write the command as targets has it now", dir, e.Command)
	}
	e.input, err = os.ReadFile(filepath.Join(dir, inputFile))
	return e.attack, err
}
