package main

import (
	_ "embed" // the list
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed mutations.yaml
var list []byte

// mutation breaks one rule: Old, which occurs once in File (a path from the module's root), becomes New.
type mutation struct {
	Name string `json:"name"`
	Rule string `json:"rule"`
	File string `json:"file"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// load reads the list. Errors name the entry and what is wrong with it.
func load(text []byte) ([]mutation, error) {
	var all []mutation
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, fmt.Errorf("mutations.yaml: %w", err)
	}
	seen := map[string]bool{}
	for i, m := range all {
		switch {
		case m.Name == "" || m.Rule == "" || m.File == "" || m.Old == "" || m.New == "":
			return nil, fmt.Errorf("mutations.yaml: entry %d (%q): name, rule, file, old and new must be set", i+1, m.Name)
		case seen[m.Name]:
			return nil, fmt.Errorf("mutations.yaml: the name %s is there twice", m.Name)
		case m.Old == m.New:
			return nil, fmt.Errorf("mutations.yaml: %s changes nothing", m.Name)
		}
		seen[m.Name] = true
	}
	return all, nil
}

// apply is the text of the file with the mutation in it.
func (m mutation) apply(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return "", fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	if n := strings.Count(string(b), m.Old); n != 1 {
		return "", fmt.Errorf("mutation %s: its old text occurs %d times in %s, not once: bring mutations.yaml up to date", m.Name, n, m.File)
	}
	return strings.Replace(string(b), m.Old, m.New, 1), nil
}

// overlay writes the mutated file and a go command's overlay file into dir, and returns the path of the latter.
func (m mutation) overlay(root, dir string) (string, error) {
	text, err := m.apply(root)
	if err != nil {
		return "", err
	}
	mutated, file := filepath.Join(dir, m.Name+".go"), filepath.Join(dir, m.Name+".json")
	original, err := filepath.Abs(filepath.Join(root, m.File))
	if err != nil {
		return "", fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	if err := os.WriteFile(file, replace, 0o600); err != nil {
		return "", fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	return file, nil
}
