package imports

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// longestName is how much of a name of the input becomes part of one of an object, which has room for 63.
const longestName = 40

// named makes a name of an object of any text: the text itself where it is one, else what is left of it with a hash of all of it.
func named(text string) string {
	if len(text) <= longestName && len(validation.IsDNS1123Label(text)) == 0 {
		return text
	}
	return shortened(text)
}

func shortened(text string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, text[:min(len(text), longestName)])
	hash := fmt.Sprintf("%.4x", sha256.Sum256([]byte(text)))
	if out = strings.Trim(out, "-"); out == "" {
		return "x-" + hash
	}
	return out + "-" + hash
}

// Names that the controllers of Kubernetes give: letters and digits without vowels and what looks like another.
const (
	safe    = `[bcdfghjklmnpqrstvwxz2456789]`
	hashed  = `^(.+)-` + safe + `{6,10}-` + safe + `{5}$` // of a Deployment's ReplicaSet
	random  = `^(.+)-` + safe + `{5}$`                    // of a ReplicaSet, DaemonSet or Job
	counted = `^(.+)-[0-9]+$`                             // of a StatefulSet
)

var (
	podNames = []*regexp.Regexp{regexp.MustCompile(hashed), regexp.MustCompile(random), regexp.MustCompile(counted)}
	setName  = regexp.MustCompile(`^(.+)-` + safe + `{6,10}$`)
)

// workload names the workload of a pod: as its owner was recorded, else as pods are named.
func (l *Load) workload(pod [2]string) string {
	name := pod[1]
	if owner, ok := l.owners[pod]; ok {
		name = owner
	} else {
		for _, r := range podNames {
			if m := r.FindStringSubmatch(pod[1]); m != nil {
				name = m[1]
				break
			}
		}
	}
	if len(name) > validation.LabelValueMaxLength || len(validation.IsDNS1123Subdomain(name)) > 0 {
		name = shortened(name)
	}
	return name
}
