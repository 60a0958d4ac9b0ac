// Package prices holds the shipped list of public prices: common machine types, with the source and the day of each list.
// It knows nothing of how a price file is read.
package prices

import (
	_ "embed"
	"os"
)

//go:embed public.yaml
var public []byte

// Public is the price file public.yaml, in the format of cloudprovider.ParsePriceFile.
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
