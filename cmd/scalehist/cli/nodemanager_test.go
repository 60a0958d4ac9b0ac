package cli

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

// TestNodeManagerGoesOn: virtual node groups are what they were when the process was killed; SIGTERM ends it.
func TestNodeManagerGoesOn(t *testing.T) {
	t.Setenv(mainVariable, "1")
	dir := t.TempDir()
	args := []string{"nodemanager", "serve", "--node-groups", groupFile(t), "--db", filepath.Join(dir, "nodes.db"), "--provision-delay", "0s", "--deletion-delay", "0s", "--listen", "127.0.0.1:0"}
	p, address := command(t, dir, "first", args...)
	c := &nodemanager.Client{API: restapi.Client{HTTP: http.DefaultClient, Base: "http://" + address}, Clock: clock.RealClock{}, Patience: time.Second}
	if err := c.IncreaseSize(t.Context(), "std", 2); err != nil {
		t.Fatal(err)
	}
	kill(t, p)
	p, address = command(t, dir, "second", args...)
	c.API.Base = "http://" + address
	var list []externalgrpc.Instance
	realtest.Eventually(t, "three nodes do not run", func() bool {
		var err error
		list, err = c.Instances(t.Context(), "std")
		return err == nil && len(list) == 3 && list[2].State == externalgrpc.Running
	})
	if err := c.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{ProviderID: list[0].ID}}); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, t.Context(), args...); code != 2 || !strings.Contains(errs, "another process has it") {
		t.Errorf("a second one on the same file: exit code %d, %s", code, errs)
	}
	p.Stop()
	if err := p.Err(); err != nil {
		t.Errorf("it is stopped with %v", err)
	}
	_, address = command(t, dir, "third", args...)
	c.API.Base = "http://" + address
	if n, err := c.TargetSize(t.Context(), "std"); n != 2 || err != nil {
		t.Errorf("target size %d, %v: want 2", n, err)
	}
	if _, err := c.TargetSize(t.Context(), "none"); !errors.Is(err, externalgrpc.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestProviderServesPrices: of a price table, over the period that is asked for.
func TestProviderServesPrices(t *testing.T) {
	table := written(t, "prices.yaml", []byte("currency: USD\nnodeGroups: {std: 0.5}\npods: {cpu: 0.04}\n"))
	address, _ := served(t, "--node-groups", groupFile(t), "--prices", table)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	from := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	price, err := wire.NewCloudProviderClient(conn).PricingNodePrice(t.Context(), &wire.PricingNodePriceRequest{
		Node:           &wire.ExternalGrpcNode{Name: "template", Annotations: map[string]string{"scalehist.io/node-group": "std"}},
		StartTimestamp: timestamppb.New(from), EndTimestamp: timestamppb.New(from.Add(3 * time.Hour)),
	})
	if err != nil || price.GetPrice() != 1.5 {
		t.Errorf("price %v, %v: want three hours at 0.5", price, err)
	}
}

func TestCapacityMistakes(t *testing.T) {
	db := filepath.Join(t.TempDir(), "state.db")
	key := written(t, "key", []byte(strings.Repeat("5a", 32)))
	borrow := written(t, "borrow.yaml", []byte(borrowedGroups))
	cert, private := certificateFiles(t, "server")
	manager := func(args ...string) []string {
		return append([]string{"nodemanager", "serve", "--db", filepath.Join(t.TempDir(), "state.db")}, args...)
	}
	registry := func(args ...string) []string {
		return append([]string{"discovery", "serve", "--db", db, "--key", key}, args...)
	}
	for want, args := range map[string][]string{
		"give --db FILE and --key":             {"discovery", "serve"},
		"want 32 bytes":                        registry("--key", borrow),
		"must be positive":                     registry("--ttl", "-1s"),
		"goes with --secrets-namespace":        registry("--kubeconfig", key),
		"give --token-file or --client-ca":     registry("--listen", "0.0.0.0:0"),
		"give --tls-cert and --tls-key":        registry("--listen", "0.0.0.0:0", "--insecure-no-auth"),
		"absent.db":                            registry("--db", "no/absent.db"),
		"give --db FILE":                       {"nodemanager", "serve"},
		"want virtual, multicluster, exec":     manager("--backend", "other"),
		"give either a history":                manager(),
		"does not go with --backend virtual":   manager("--borrow", borrow),
		"and no history":                       manager("x.db", "--backend", "multicluster", "--borrow", borrow, "--discovery", "http://127.0.0.1:1"),
		"--dry-run does not go with":           manager("--backend", "multicluster", "--borrow", borrow, "--discovery", "http://127.0.0.1:1", "--dry-run"),
		"--prices does not go with":            manager("--backend", "multicluster", "--borrow", borrow, "--discovery", "http://127.0.0.1:1", "--prices", "public"),
		"--backend exec: give --kubeconfig":    manager("--backend", "exec", "--borrow", borrow, "--discovery", "http://127.0.0.1:1"),
		"want an address such as":              manager("--backend", "multicluster", "--borrow", borrow, "--discovery", "nowhere"),
		"--discovery https://127.0.0.1:1: TLS": manager("--backend", "multicluster", "--borrow", borrow, "--discovery", "https://127.0.0.1:1", "--tls-cert", cert, "--tls-key", private),
	} {
		if code, _, errs := run(t, t.Context(), args...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, %q: want 2 and %q", args, code, errs, want)
		}
	}
	if err := os.WriteFile(db, []byte(strings.Repeat("no database ", 400)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, t.Context(), manager("--node-groups", groupFile(t), "--db", db)...); code != 2 || !strings.Contains(errs, "--db: state "+db) {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
