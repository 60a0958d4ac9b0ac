package recorder

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

const (
	// maxEvent bounds an event of a watch in bytes: etcd takes no object larger than 1.5 MiB. client-go has a bound of its own for protobuf
	// (16 MiB), and reads JSON to its end.
	maxEvent = 32 << 20
	// maxAnswer bounds any other answer in bytes: a page of 500 of the largest objects is smaller.
	maxAnswer = 1 << 30
)

// boundAnswers lets no answer of an API server, or of what is in front of it, fill the memory.
func boundAnswers(cfg *rest.Config) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err != nil || resp.Body == nil || resp.StatusCode == http.StatusSwitchingProtocols {
				return resp, err
			}
			switch watch := req.URL.Query().Get("watch"); {
			case watch != "true" && watch != "1":
				resp.Body = &bounded{ReadCloser: resp.Body, most: maxAnswer, what: "an answer"}
			case strings.Contains(resp.Header.Get("Content-Type"), "json"):
				resp.Body = &bounded{ReadCloser: resp.Body, most: maxEvent, what: "an event", lines: true}
			}
			return resp, nil
		})
	})
}

// bounded is the body of an answer of which so much is read, in all or since the last line ended.
type bounded struct {
	io.ReadCloser
	most, read int64
	what       string
	lines      bool
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if b.lines {
		if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
			b.read = int64(n - end - 1)
		}
	}
	if b.read > b.most {
		return 0, fmt.Errorf("recorder: the API server sends %s of more than %d MiB", b.what, b.most>>20)
	}
	return n, err
}
