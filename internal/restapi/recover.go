package restapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/internal/httpstatus"
)

// Recover answers a panic with a problem; the process goes on. who broke down is named in the answer; seen hears of it.
func Recover(next http.Handler, who string, seen func(), fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			seen()
			klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", v), "A request ended in a panic", "path", r.URL.Path, "requestId", RequestID(r), "stack", string(debug.Stack()))
			if seen, ok := w.(*httpstatus.Writer); ok && seen.Wrote {
				panic(http.ErrAbortHandler) // half an answer is none
			}
			w.Header().Del("Content-Encoding")
			fail(w, r, &Error{Status: http.StatusInternalServerError, Kind: KindFailed, Detail: who + " broke down on this request",
				Advice: "the server's log has the stack under the request id; please report it with the request"})
		}()
		next.ServeHTTP(w, r)
	})
}
