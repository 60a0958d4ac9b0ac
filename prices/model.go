package prices

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/internal/near"
)

// Model is how a node is paid for.
type Model string

// The price models.
const (
	OnDemand Model = "on-demand"
	Spot     Model = "spot"
	Reserved Model = "reserved"
)

// Models are all of them, in the order in which they are listed.
var Models = []Model{OnDemand, Spot, Reserved}

// ParseModel reads the name of a model.
func ParseModel(s string) (Model, error) {
	if m := Model(s); slices.Contains(Models, m) {
		return m, nil
	}
	return "", fmt.Errorf("price model %q: want on-demand, spot or reserved", s)
}

// ByModel are the prices of a machine type by how it is paid for; nil is not known.
type ByModel struct {
	OnDemand *float64 `json:"onDemand,omitempty"`
	Spot     *float64 `json:"spot,omitempty"`
	Reserved *float64 `json:"reserved,omitempty"`
}

// of is the price under a model, nil when it is not known.
func (p ByModel) of(m Model) *float64 {
	switch m {
	case Spot:
		return p.Spot
	case Reserved:
		return p.Reserved
	}
	return p.OnDemand
}

// known names the models there is a price for.
func (p ByModel) known() string {
	var out []string
	for _, m := range Models {
		if p.of(m) != nil {
			out = append(out, string(m))
		}
	}
	return strings.Join(out, ", ")
}

// File is a price file as it was written; Select makes the table of one region of it.
type File struct {
	Currency string
	// Lists are the machine types by provider and region, the one at the top of the file first.
	Lists       []List
	NodeGroups  map[string]float64
	GroupModels map[string]Model
	SpotLabels  []string
	Pods        PodPrices
}

// List are the prices of one region, and where they come from.
type List struct {
	Provider, Region string
	// Source is the address of the list, Date the day it was read (YYYY-MM-DD).
	Source, Date string
	// One has the types with a single price, Models those with a price by model. A type is in one of them.
	One    map[string]float64
	Models map[string]ByModel
}

func (l List) name() string {
	switch {
	case l.Region == "" && l.Provider == "":
		return "(no region)"
	case l.Provider == "":
		return l.Region
	}
	return l.Provider + "/" + l.Region
}

// Selection says which prices of a file are meant.
type Selection struct {
	// Region is a region of the file, or provider/region; empty: the only one there is.
	Region string
	// Model is how nodes are paid for where nothing else says so. Empty: on demand.
	Model Model
	// GroupModels are models by node group. They win over those of the file and over node labels.
	GroupModels map[string]Model
}

// Select makes the table of one region. A file with several regions and none chosen is an error that names them.
func (f *File) Select(s Selection) (*Table, error) {
	t := &Table{Currency: f.Currency, NodeGroups: f.NodeGroups, Pods: f.Pods, Model: s.Model, SpotLabels: f.SpotLabels}
	if len(f.GroupModels)+len(s.GroupModels) > 0 {
		t.GroupModels = map[string]Model{}
		maps.Copy(t.GroupModels, f.GroupModels)
		maps.Copy(t.GroupModels, s.GroupModels)
	}
	list, err := f.list(s.Region)
	if err != nil {
		return nil, fmt.Errorf("price table: %w", err)
	}
	if list != nil {
		t.Provider, t.Region, t.MachineTypes, t.Models = list.Provider, list.Region, list.One, list.Models
	}
	return t, nil
}

// list is the one list that is meant; nil when the file has none and none is asked for.
func (f *File) list(region string) (*List, error) {
	var found []*List
	var names []string
	for i := range f.Lists {
		l := &f.Lists[i]
		names = append(names, l.name())
		if region == "" || region == l.Region || region == l.name() {
			found = append(found, l)
		}
	}
	slices.Sort(names)
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && region == "":
		return nil, fmt.Errorf("it has prices of %s: choose a region", strings.Join(names, ", "))
	case len(found) > 1:
		return nil, fmt.Errorf("region %q is there of several providers: choose one of %s", region, strings.Join(names, ", "))
	case region == "":
		return nil, nil
	case len(f.Lists) == 0 || len(f.Lists) == 1 && f.Lists[0].Region == "":
		return nil, fmt.Errorf("it does not say of which region its prices are: ask for none, or add a line \"region: %s\"", region)
	}
	return nil, fmt.Errorf("region %q is not in it: choose one of %s%s", region, strings.Join(names, ", "), near.Suggest(region, f.regions()))
}

func (f *File) regions() []string {
	var out []string
	for _, l := range f.Lists {
		out = append(out, l.Region)
	}
	return out
}

// check finds what single lines do not show: a region given twice, a list without a name beside others.
func (f *File) check() error {
	seen := map[string]bool{}
	for _, l := range f.Lists {
		if l.Region == "" && len(f.Lists) > 1 {
			return errors.New("with several lists each needs its region: add \"region:\" to all of them")
		}
		if seen[l.name()] {
			return fmt.Errorf("region %s is given twice", l.name())
		}
		seen[l.name()] = true
	}
	return nil
}

// spotLabels are the node labels that say a node is a spot or preemptible one, by who sets them.
var spotLabels = []string{
	"karpenter.sh/capacity-type=spot",            // https://karpenter.sh/docs/concepts/nodepools/
	"eks.amazonaws.com/capacityType=SPOT",        // EKS managed node groups
	"cloud.google.com/gke-spot=true",             // GKE Spot VMs
	"cloud.google.com/gke-preemptible=true",      // GKE preemptible VMs
	"cloud.google.com/gke-provisioning=spot",     // GKE
	"kubernetes.azure.com/scalesetpriority=spot", // AKS
	"node.kubernetes.io/lifecycle=spot",          // set by convention on self-managed nodes
}

// modelOf is how a node is paid for, whether somebody asked for that model by name, and why it is this one.
func (t *Table) modelOf(labels map[string]string, group string) (model Model, asked bool, why string) {
	if m, ok := t.GroupModels[group]; ok {
		return m, true, fmt.Sprintf("node group %s is priced as %s", group, m)
	}
	for _, l := range slices.Concat(spotLabels, t.SpotLabels) {
		key, value, _ := strings.Cut(l, "=")
		if got, ok := labels[key]; ok && strings.EqualFold(got, value) {
			return Spot, t.Model == Spot, "its node has the label " + l
		}
	}
	model = cmp.Or(t.Model, OnDemand)
	return model, t.Model != "", "the price model is " + string(model)
}
