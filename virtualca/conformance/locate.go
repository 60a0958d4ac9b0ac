package conformance

import (
	"fmt"
	"io"
	"os"
	"regexp"
)

// lineError is how Read begins an error.
var lineError = regexp.MustCompile(`^line (\d+): `)

// ReadNamed is Read with errors that begin with "name:line: ", as editors and CI know them. A stream without a case is an
// error too.
func ReadNamed(r io.Reader, name string) ([]Case, error) {
	cases, err := Read(r)
	if err != nil {
		if m := lineError.FindStringSubmatch(err.Error()); m != nil {
			return nil, &locatedError{at: name + ":" + m[1], text: err.Error()[len(m[0]):], err: err}
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s: there is no case in it: give JSON lines {name, category, input, outcomes}, plain or gzip", name)
	}
	for i := range cases {
		if cases[i].Name == "" {
			cases[i].Name = fmt.Sprintf("#%d", i+1)
		}
	}
	return cases, nil
}

// LoadNamed is ReadNamed of a file.
func LoadNamed(path string) ([]Case, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("conformance cases: %w", err)
	}
	defer f.Close()
	return ReadNamed(f, path)
}

type locatedError struct {
	at, text string
	err      error
}

func (e *locatedError) Error() string { return e.at + ": " + e.text }
func (e *locatedError) Unwrap() error { return e.err }
