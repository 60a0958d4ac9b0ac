package httphost

import (
	"net/http"
	"testing"
)

func TestCheck(t *testing.T) {
	local := Names{LocalOnly: true, Others: []string{"hist.example"}}
	for host, want := range map[string]bool{"localhost:80": true, "LOCALHOST": true, "127.0.0.1:8600": true, "127.8.0.1": true, "[::1]:80": true,
		"localhost.": true, "hist.example:443": true, "Hist.Example": true, "evil.example": false, "evil.example:80": false, "10.0.0.1": false,
		"localhost.evil.example": false, "": false} {
		r := &http.Request{Host: host}
		if err := local.Check(r); (err == nil) != want {
			t.Errorf("%q: got %v, want admitted %v", host, err, want)
		}
		if err := (Names{}).Check(r); err != nil {
			t.Errorf("%q, any name: %v", host, err)
		}
	}
}
