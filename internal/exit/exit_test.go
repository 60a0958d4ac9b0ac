package exit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCode(t *testing.T) {
	found := errors.New("found")
	for _, tc := range []struct {
		err      error
		want     int
		wantText string
	}{
		{nil, 0, ""},
		{fmt.Errorf("3 findings: %w", found), 1, "judge: 3 findings: found\n"},
		{errors.New("no tree"), 2, "judge: no tree\n"},
	} {
		var out strings.Builder
		if got := Code(&out, "judge", tc.err, found); got != tc.want || out.String() != tc.wantText {
			t.Errorf("%v: code %d, %q", tc.err, got, out.String())
		}
	}
}
