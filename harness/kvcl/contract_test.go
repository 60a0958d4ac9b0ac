package kvcl_test

import (
	"testing"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/contract"
)

func TestContract(t *testing.T) {
	contract.Run(t, func(t *testing.T) kvcl.ControlPlane {
		e, err := kvcl.Start(t.Context(), kvcl.Options{Now: contract.Now})
		if err != nil {
			t.Fatal(err)
		}
		return e
	})
}
