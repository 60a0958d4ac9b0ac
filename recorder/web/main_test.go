package web

import (
	"net/http"
	"os"
	"testing"

	"github.com/scalehist/scalehist/internal/leaktest"
)

// TestMain fails when the app leaves goroutines behind.
func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "scalehist/recorder", http.DefaultClient.CloseIdleConnections))
}
