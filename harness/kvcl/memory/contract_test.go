package memory_test

import (
	"testing"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/contract"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
)

func TestContract(t *testing.T) {
	for name, recall := range map[string]bool{"stock": false, "recall": true} {
		t.Run(name, func(t *testing.T) {
			contract.Run(t, func(t *testing.T) kvcl.ControlPlane {
				m, err := memory.Start(t.Context(), memory.Options{Now: contract.Now, Recall: recall})
				if err != nil {
					t.Fatal(err)
				}
				return m
			})
		})
	}
}
