// Package decode reads JSON and YAML that people wrote, and says in their words what is wrong with it: the line, the path of the key, and what
// belongs there. The names of Go types never get into an error.
package decode
