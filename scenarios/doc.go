// Package scenarios is the regression suite: Ginkgo specs that replay recorded histories through autoscalers on a
// virtual cluster and assert on what they did. `go test ./scenarios` runs it; start a new spec from template_test.go.
package scenarios
