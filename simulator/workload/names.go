package workload

import (
	"cmp"
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Names says what a recording calls the n-th object (from 0) that owner made like this, where it knows. like is the name where rules fix
// it (ReplicaSets, pods of StatefulSets): then only the UID of the answer is used. Else it is what the name begins with (generateName).
// An answer that is in use is passed over, so answers must end.
type Names func(owner metav1.Object, like string, n int) (name string, uid types.UID, ok bool)

// drawn is the name and UID of the next object of a family: recorded ones while there are any, then made-up ones that are the same in
// every run. One of fixed, which is kept, and prefix is given.
func (s *State) drawn(f *family, owner metav1.Object, prefix, fixed string) (string, types.UID) {
	like := cmp.Or(fixed, prefix)
	for {
		n := f.made[like]
		f.made[like]++
		name, uid, known := "", types.UID(""), false
		if s.names != nil {
			name, uid, known = s.names(owner, like, n)
		}
		if !known {
			seed := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", owner.GetUID(), like, n))
			name = prefix + suffix(seed)
			uid = madeUID(seed)
		}
		if fixed != "" {
			name = fixed
		}
		full := types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}
		if s.replicaSets[uid] != nil || s.familyOf[uid] != nil || fixed == "" && (s.podNames[full] || !known && s.opts.Used != nil && s.opts.Used(full)) {
			continue // a recorded one that lives, or two made-up ones alike
		}
		return name, uid
	}
}

// suffix has the length and the alphabet of what the API server appends to generateName (k8s.io/apiserver, storage/names).
func suffix(seed [sha256.Size]byte) string {
	ascii := make([]byte, 5) // it encodes characters, not bytes
	for i := range ascii {
		ascii[i] = seed[i] & 0x7f
	}
	return rand.SafeEncodeString(string(ascii))
}

// madeUID has the form of a random UUID.
func madeUID(seed [sha256.Size]byte) types.UID {
	b := seed[8:24]
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// maxGenerated is how long a name may be to which five characters are appended (k8s.io/apiserver, storage/names: 63 less 5).
const maxGenerated = validation.DNS1123LabelMaxLength - 5

// generatePrefix cuts generateName as the API server does.
func generatePrefix(p *corev1.Pod) string {
	if len(p.GenerateName) > maxGenerated {
		return p.GenerateName[:maxGenerated]
	}
	return p.GenerateName
}
