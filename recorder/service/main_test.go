package service

import (
	"os"
	"testing"

	"github.com/scalehist/scalehist/internal/leaktest"
)

// TestMain fails when a service leaves goroutines behind.
func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "scalehist/recorder", nil)) }
