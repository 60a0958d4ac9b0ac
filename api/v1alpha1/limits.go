package v1alpha1

import "fmt"

// MaxNodes bounds how many nodes a group may be asked for: far above any cluster, and low enough that no file and no request
// takes all memory.
const MaxNodes = 100_000

// Problem says what is wrong with the sizes, with the key; "" is nothing. MaxSize may be as large as it likes: a provider gives no
// group more than MaxNodes.
func (s *NodeGroupSpec) Problem() string {
	for _, size := range []struct {
		key   string
		value int32
		most  int32
	}{{"minSize", s.MinSize, MaxNodes}, {"maxSize", s.MaxSize, 0}, {"targetSize", s.TargetSize, MaxNodes}} {
		if size.value < 0 {
			return fmt.Sprintf("key %q: %d is negative", "spec."+size.key, size.value)
		}
		if size.most > 0 && size.value > size.most {
			return fmt.Sprintf("key %q: %d nodes are more than the %d that a node group may have", "spec."+size.key, size.value, size.most)
		}
	}
	if s.MinSize > s.MaxSize {
		return fmt.Sprintf(`key "spec.minSize": %d is more than maxSize %d`, s.MinSize, s.MaxSize)
	}
	return ""
}

// TooLarge says whether no cluster could have the nodes that the sizes ask for.
func (s *NodeGroupSpec) TooLarge() bool { return s.MinSize > MaxNodes || s.TargetSize > MaxNodes }
