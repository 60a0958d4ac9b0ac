package memory_test

import (
	"os"
	"testing"

	"github.com/scalehist/scalehist/internal/leaktest"
)

// TestMain fails when a control plane leaves goroutines behind.
func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "scalehist/harness", nil)) }
