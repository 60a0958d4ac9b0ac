package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/snapshot"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/nodegroups/beside"
)

// virtualFlags say which virtual node groups are served, and where their nodes are objects.
type virtualFlags struct {
	groups, kubeconfig string
	delay, deletion    time.Duration
	prices             replays.PriceFlags
}

// inCluster is a --kubeconfig of the pod that this runs in.
const inCluster = "in-cluster"

// virtualNames are the flags of virtualFlags.
var virtualNames = []string{"node-groups", "kubeconfig", "provision-delay", "deletion-delay", "prices", "region", "price-model", "price-model-of"}

func (f *virtualFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.groups, "node-groups", "", "file (YAML) with a list of NodeGroup objects of scalehist.io/v1alpha1, in place of a history")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "API server in which the nodes are objects: a file, or in-cluster, that of the pod; default: none")
	flags.DurationVar(&f.delay, "provision-delay", cloudprovider.DefaultProvisionDelay, "time from a request to the Ready node, for groups whose delay was not recorded")
	flags.DurationVar(&f.deletion, "deletion-delay", cloudprovider.DefaultDeletionDelay, "time from the deletion of a node to the node being gone, if it was not recorded")
	f.prices.Add(cmd)
	if err := cmd.MarkFlagFilename("node-groups", "yaml", "yml", "json"); err != nil {
		panic(fmt.Sprintf("completion of --node-groups: %v", err)) // only a flag that does not exist fails
	}
}

// provider makes the node groups. restore, unless it is nil, gives them an earlier state, and says whether there was one.
func (f *virtualFlags) provider(cmd *cobra.Command, args []string, restore func(*cloudprovider.Provider) (bool, error)) (*cloudprovider.Provider, beside.Nodes, error) {
	if (len(args) == 1) == (f.groups != "") {
		return nil, nil, console.UsageErrorf(cmd, "give either a history (FILE.db) or --node-groups FILE")
	}
	if f.delay < 0 || f.deletion < 0 {
		return nil, nil, console.UsageErrorf(cmd, "--provision-delay %s and --deletion-delay %s must not be negative", f.delay, f.deletion)
	}
	o := cloudprovider.Options{Start: clock.RealClock{}.Now().UTC(), DefaultDelay: &f.delay, DeletionDelay: &f.deletion}
	groups, err := f.read(cmd.Context(), args, &o)
	if err != nil {
		return nil, nil, err
	}
	if o.Prices, err = f.prices.Table(cmd); err != nil {
		return nil, nil, err
	}
	p, err := cloudprovider.New(groups, o)
	if err != nil {
		return nil, nil, err
	}
	restored := false
	if restore != nil {
		if restored, err = restore(p); err != nil {
			return nil, nil, err
		}
	}
	client, err := f.client()
	if err != nil || client == nil {
		return p, nil, err
	}
	return p, apiNodes{client}, f.takeOver(cmd.Context(), client, p, restored)
}

// read reads the node groups, and of a history how long nodes take.
func (f *virtualFlags) read(ctx context.Context, args []string, o *cloudprovider.Options) (groups []scalehist.NodeGroup, err error) {
	if f.groups == "" {
		db, err := history.Open(ctx, args[0])
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		in, err := trace.FromHistory(ctx, db, trace.Window{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", args[0], err)
		}
		o.ProvisionDelay, o.GroupOptions, o.TemplatePods = in.ProvisionDelays, in.GroupOptions, in.StaticPods
		if in.DeletionDelay != nil {
			o.DeletionDelay = in.DeletionDelay
		}
		if len(in.NodeGroups) == 0 {
			return nil, fmt.Errorf("%s: no node groups at its start: nothing could be served", args[0])
		}
		return in.NodeGroups, nil
	}
	data, err := os.ReadFile(f.groups)
	if err != nil {
		return nil, fmt.Errorf("--node-groups: %w", err)
	}
	var list []v1alpha1.NodeGroup
	if err := decode.YAML(data, &list); err != nil {
		return nil, fmt.Errorf("--node-groups %s: %w", f.groups, err)
	}
	for i := range list {
		groups = append(groups, snapshot.NodeGroup(&list[i]))
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("--node-groups %s: there are no node groups in it", f.groups)
	}
	return groups, nil
}

// apiNodes are the nodes of an API server.
type apiNodes struct{ client kubernetes.Interface }

func (a apiNodes) Create(ctx context.Context, n *corev1.Node) error {
	n = n.DeepCopy()
	n.UID, n.ResourceVersion, n.CreationTimestamp = "", "", metav1.Time{}
	_, err := a.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (a apiNodes) Delete(ctx context.Context, name string) error {
	err := a.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// client reaches the API server; nil where there is none.
func (f *virtualFlags) client() (kubernetes.Interface, error) {
	config, err := f.config()
	if err != nil || config == nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return client, nil
}

func (f *virtualFlags) config() (*rest.Config, error) {
	if f.kubeconfig == "" {
		return nil, nil
	}
	path := f.kubeconfig
	if path == inCluster {
		path = "" // client-go then takes the account of the pod
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return config, nil
}

// takeOver takes over nodes of the groups that are there; to a provider that was restored those it does not know are left of a deletion.
func (f *virtualFlags) takeOver(ctx context.Context, client kubernetes.Interface, p *cloudprovider.Provider, restored bool) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range list.Items {
		n := &list.Items[i]
		group, ours := p.GroupForNode(n)
		if !ours {
			continue
		}
		switch {
		case !restored:
			err = p.Adopt(n)
		case !slices.ContainsFunc(p.Instances(group), func(i cloudprovider.Instance) bool { return i.NodeName == n.Name }):
			err = apiNodes{client}.Delete(ctx, n.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
