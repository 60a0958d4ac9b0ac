// Package prices says what nodes and pods cost: it reads price files, chooses a region and a price model, and has a shipped list
// of public prices, with the source and the day of each.
package prices

import (
	_ "embed"
	"os"
)

//go:embed public.yaml
var public []byte

// Public is the price file public.yaml, in the format of ParseFile.
func Public() []byte { return public }

// Shipped is the name under which people ask for the shipped list; a file of that name is ./public.
const Shipped = "public"

// Read is the price file of a name: the shipped one, or that at a path.
func Read(name string) ([]byte, error) {
	if name == Shipped {
		return Public(), nil
	}
	return os.ReadFile(name)
}
