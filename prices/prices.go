// Package prices holds the shipped list of public prices: common machine types, with the source and the day of each list.
// It knows nothing of how a price file is read.
package prices

import _ "embed"

//go:embed public.yaml
var public []byte

// Public is the price file public.yaml, in the format of cloudprovider.ParsePriceFile.
func Public() []byte { return public }
