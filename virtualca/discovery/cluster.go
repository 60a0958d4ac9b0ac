package discovery

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scalehist/scalehist/prices"
)

// Cluster is a remote cluster, without how it is reached.
type Cluster struct {
	// Name is that of its Secret, or the one it registered with: a DNS subdomain.
	Name string `json:"name"`
	// Region is where it is, in words of the operator's.
	Region string `json:"region,omitempty"`
	// Labels are matched by who borrows, and become labels of the virtual node.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints keep away what does not tolerate them.
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Resources are what it shares in all, as quantities by resource name.
	Resources corev1.ResourceList `json:"resources"`
	// Prices are per hour of a core, a GiB of memory and a GPU; absent: not known.
	Prices *prices.PodPrices `json:"prices,omitempty"`
	// HasNAT: its API server is behind NAT, and is reached at APIServer.
	HasNAT bool `json:"hasNat,omitempty"`
	// APIServer is the address of its API server as seen from here, where its kubeconfig has another.
	APIServer string `json:"apiServer,omitempty"`
	// Source is "api", or "secret/NAMESPACE". The server says so.
	Source string `json:"source,omitempty"`
	// LastSeen is its last sign of life; Expires is when it is taken out of the list without another, absent for Secrets. The server says so.
	LastSeen time.Time  `json:"lastSeen,omitzero"`
	Expires  *time.Time `json:"expires,omitempty"`
	// HasKubeconfig: the server knows how to reach it. The server says so.
	HasKubeconfig bool `json:"hasKubeconfig,omitempty"`
}

// Registration is a cluster and how it is reached.
type Registration struct {
	Cluster
	// Kubeconfig reaches it; absent in an update: as before.
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// ErrInvalid is in errors about what a cluster says of itself.
var ErrInvalid = errors.New("invalid cluster")

// check refuses what no cluster has.
func (r *Registration) check() error {
	bad := func(path, format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", ErrInvalid, path, fmt.Sprintf(format, args...))
	}
	if problems := validation.IsDNS1123Subdomain(r.Name); len(problems) > 0 {
		return bad("name", "%q: %s", r.Name, problems[0])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		if problems := append(validation.IsQualifiedName(name), validation.IsValidLabelValue(r.Labels[name])...); len(problems) > 0 {
			return bad("labels", "%s=%s: %s", name, r.Labels[name], problems[0])
		}
	}
	for i := range r.Taints {
		if t := r.Taints[i]; t.Key == "" || t.Effect == "" {
			return bad("taints", "taint %d: key and effect are needed", i)
		}
	}
	if len(r.Resources) == 0 {
		return bad("resources", "nothing is shared: give cpu and memory")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Resources)) {
		if q := r.Resources[name]; q.Sign() < 0 {
			return bad("resources", "%s of %s is negative", q.String(), name)
		}
	}
	if p := r.Prices; p != nil {
		for name, v := range map[string]float64{"cpu": p.CPU, "memoryGiB": p.MemoryGiB, "gpu": p.GPU} {
			if v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
				return bad("prices", "%s: %v: want 0 or more", name, v)
			}
		}
	}
	if strings.ContainsAny(r.APIServer, " \t\r\n") || strings.HasPrefix(r.APIServer, "-") {
		return bad("apiServer", "%q is no address", r.APIServer)
	}
	if r.Kubeconfig != "" {
		if err := checkKubeconfig(r.Kubeconfig); err != nil {
			return bad("kubeconfig", "%s", err)
		}
	}
	return nil
}

// checkKubeconfig refuses what cannot be used, and what would run programs or read files where it is used. Errors have nothing of its text in them.
func checkKubeconfig(text string) error {
	c, err := clientcmd.Load([]byte(text))
	if err != nil {
		return errors.New("it cannot be read as a kubeconfig")
	}
	current, ok := c.Contexts[c.CurrentContext]
	if !ok {
		return errors.New("its current-context is not among its contexts")
	}
	if one, ok := c.Clusters[current.Cluster]; !ok || one.Server == "" {
		return errors.New("the cluster of its current-context has no server")
	}
	for _, one := range c.Clusters {
		if one.CertificateAuthority != "" {
			return errors.New("it names a file: give certificate-authority-data (kubectl config view --flatten)")
		}
	}
	for _, u := range c.AuthInfos {
		switch {
		case u.Exec != nil || u.AuthProvider != nil:
			return errors.New("it would run a program to log in: give a token or a certificate")
		case u.ClientCertificate != "" || u.ClientKey != "" || u.TokenFile != "":
			return errors.New("it names a file: give its data (kubectl config view --flatten)")
		}
	}
	return nil
}
