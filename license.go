package scalehist

import _ "embed"

// License is the text of the licence, for whatever ships without a checkout.
//
//go:embed LICENSE
var License []byte
