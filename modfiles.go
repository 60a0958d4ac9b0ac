package scalehist

import _ "embed"

// GoMod and GoSum are this module's own files. kvcl/assets builds kube-apiserver and etcd from the versions pinned in
// them, from a checkout and from an installed binary alike.
var (
	//go:embed go.mod
	GoMod []byte
	//go:embed go.sum
	GoSum []byte
	// License is the text of the licence, for whatever ships without a checkout.
	//go:embed LICENSE
	License []byte
)
