package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// asProgram makes this test binary one of the programs below in place of running tests: what the judge must see, it has to be shown.
const asProgram = "ATTACK_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(asProgram); name != "" {
		os.Exit(programs[name]())
	}
	code := m.Run()
	if built != "" {
		code |= failed(os.RemoveAll(built))
	}
	os.Exit(code)
}

// programs do what no command may do, each in its own way. They are called as scalehist is: a command and its input.
var programs = map[string]func() int{
	"well": func() int { return 0 },
	"refuses": func() int {
		fmt.Fprintf(os.Stderr, "scalehist: %s is no history: export it again\n", input())
		return 2
	},
	"panics":     func() int { panic("of the test") },
	"overflows":  func() int { debug.SetMaxStack(4 << 20); return overflow(0) },
	"hangs":      func() int { time.Sleep(time.Hour); return 0 },
	"exits 3":    func() int { return 3 },
	"differs":    func() int { return 1 },
	"is silent":  func() int { return 2 },
	"names none": func() int { fmt.Fprintln(os.Stderr, "scalehist: something is wrong"); return 2 },
	"is verbose": func() int { fmt.Fprintln(os.Stderr, "scalehist:", input(), strings.Repeat("no ", longest)); return 2 },
	"speaks Go": func() int {
		fmt.Fprintln(os.Stderr, "scalehist:", input()+": cannot unmarshal array into Go value of type struct { A int }")
		return 2
	},
	"shows its stack": func() int { fmt.Fprintln(os.Stderr, "scalehist:", input(), "goroutine 1 [running]:"); return 2 },
	"eats memory": func() int {
		for held := [][]byte{}; ; time.Sleep(time.Millisecond) {
			b := make([]byte, 4<<20)
			for i := range b {
				b[i] = byte(i)
			}
			held = append(held, b)
			if len(held) > 1000 {
				return 0
			}
		}
	},
	"changes its input":              func() int { return failed(os.WriteFile(input(), []byte("other"), 0o600)) },
	"removes its input":              func() int { return failed(os.Remove(input())) },
	"leaves a file beside its input": func() int { return failed(os.WriteFile(input()+"-wal", nil, 0o600)) },
	"leaves a temporary file": func() int {
		f, err := os.CreateTemp("", "x")
		if err == nil {
			err = f.Close()
		}
		return failed(err)
	},
	"kills itself": func() int {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		time.Sleep(time.Minute)
		return failed(err)
	},
	"prints without end": func() int {
		for line := strings.Repeat("x", 1<<20); ; {
			if _, err := fmt.Println(line); err != nil {
				return 0
			}
			if written++; written > 70 {
				return 0
			}
		}
	},
}

var written int

func input() string { return os.Args[len(os.Args)-1] }

func failed(err error) int {
	if err != nil {
		return 3
	}
	return 0
}

func overflow(n int) int { return 1 + overflow(n+1) } //nolint:staticcheck // it is to overflow the stack
