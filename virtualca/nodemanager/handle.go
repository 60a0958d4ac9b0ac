package nodemanager

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// maxKey bounds the key of a change.
const maxKey = 64

// change makes a change once, however often it comes with the same key.
func (s *Server) change(r *http.Request, do func(ctx context.Context) error) (any, error) {
	key := r.Header.Get(KeyHeader)
	if len(key) > maxKey {
		return nil, bad(KeyHeader, fmt.Sprintf("the key has %d characters", len(key)), fmt.Sprintf("give at most %d", maxKey))
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	ctx := r.Context()
	if key != "" {
		again, err := s.backend.Changed(ctx, key)
		if err != nil || again {
			return Done{Done: true, Again: true}, err
		}
		ctx = WithKey(ctx, key)
	}
	return Done{Done: true}, do(ctx)
}

func bad(path, detail, advice string) error {
	return &restapi.Error{Status: http.StatusBadRequest, Kind: "invalid", Path: path, Detail: detail, Advice: advice}
}

// needed is a parameter that may not be absent.
func needed(r *http.Request, name string) (string, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return "", bad(name, "the parameter is missing", "give ?"+name+"=...")
	}
	return v, nil
}

// count is how many nodes a change is about.
func count(r *http.Request) (int, error) {
	text, err := needed(r, "count")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, bad("count", fmt.Sprintf("%.20q", text), "want a positive number of nodes")
	}
	return int(n), nil
}

func (s *Server) groups(_ http.ResponseWriter, r *http.Request) (any, error) {
	list, err := s.backend.NodeGroups(r.Context())
	out := []NodeGroup{}
	for _, g := range list {
		out = append(out, groupToWire(g))
	}
	return out, err
}

// asked is the node that a request is about: in its body, or by the parameter id.
func asked(w http.ResponseWriter, r *http.Request, into any, node *Node) error {
	if r.Method == http.MethodPost {
		if err := restapi.ReadJSON(w, r, into); err != nil {
			return err
		}
	} else {
		id, err := needed(r, "id")
		if err != nil {
			return err
		}
		*node = Node{Name: id, ProviderID: r.URL.Query().Get("providerId")}
	}
	if node.Name == "" && node.ProviderID == "" {
		return bad("node", "a node without name and provider id", "give one of them")
	}
	return nil
}

func (s *Server) ownership(w http.ResponseWriter, r *http.Request) (any, error) {
	var n Node
	if err := asked(w, r, &n, &n); err != nil {
		return nil, err
	}
	g, err := s.backend.NodeGroupForNode(r.Context(), nodeFromWire(n))
	return groupToWire(g), err
}

func (s *Server) size(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := needed(r, "id")
	if err != nil {
		return nil, err
	}
	var out Size
	if out.TargetSize, err = s.backend.TargetSize(r.Context(), id); err != nil {
		return nil, err
	}
	list, err := s.backend.Instances(r.Context(), id)
	for _, i := range list {
		if i.State == externalgrpc.Running {
			out.CurrentSize++
		}
	}
	return out, err
}

func (s *Server) nodes(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := needed(r, "id")
	if err != nil {
		return nil, err
	}
	list, err := s.backend.Instances(r.Context(), id)
	out := []Instance{}
	for _, i := range list {
		out = append(out, instanceToWire(i))
	}
	return out, err
}

func (s *Server) template(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := needed(r, "id")
	if err != nil {
		return nil, err
	}
	n, err := s.backend.Template(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, fmt.Errorf("node group %s has no template: %w", id, externalgrpc.ErrUnimplemented)
	}
	return Template{NodeGroupID: id, Node: *n}, nil
}

func (s *Server) options(w http.ResponseWriter, r *http.Request) (any, error) {
	id, err := needed(r, "id")
	if err != nil {
		return nil, err
	}
	var in Options
	if err := restapi.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	o, err := s.backend.GroupOptions(r.Context(), id, optionsFromWire(in))
	if err != nil || o == nil {
		return GroupOptions{}, err
	}
	return GroupOptions{Options: optionsToWire(*o)}, nil
}

// period is checked here: a backend gets none that ends before it begins.
func period(from, to time.Time) error {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return bad("from, to", "the period is missing, or ends before it starts", "give two instants such as 2026-03-02T09:00:00Z")
	}
	return nil
}

func (s *Server) nodePrice(w http.ResponseWriter, r *http.Request) (any, error) {
	var in NodePrice
	if err := asked(w, r, &in, &in.Node); err != nil {
		return nil, err
	}
	if r.Method == http.MethodGet {
		in.From, _ = time.Parse(time.RFC3339, r.URL.Query().Get("from")) // a period checks it
		in.To, _ = time.Parse(time.RFC3339, r.URL.Query().Get("to"))
	}
	if err := period(in.From, in.To); err != nil {
		return nil, err
	}
	v, err := s.backend.NodePrice(r.Context(), nodeFromWire(in.Node), in.From, in.To)
	return Price{Price: v}, err
}

func (s *Server) podPrice(w http.ResponseWriter, r *http.Request) (any, error) {
	var in PodPrice
	if err := restapi.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	if err := period(in.From, in.To); err != nil {
		return nil, err
	}
	v, err := s.backend.PodPrice(r.Context(), &in.Pod, in.From, in.To)
	return Price{Price: v}, err
}

func (s *Server) gpuLabel(_ http.ResponseWriter, r *http.Request) (any, error) {
	label, err := s.backend.GPULabel(r.Context())
	return GPULabel{Label: label}, err
}

func (s *Server) gpuTypes(_ http.ResponseWriter, r *http.Request) (any, error) {
	types, err := s.backend.GPUTypes(r.Context())
	if types == nil {
		types = []string{}
	}
	return types, err
}

func (s *Server) scaleUp(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := needed(r, "id")
	if err != nil {
		return nil, err
	}
	n, err := count(r)
	if err != nil {
		return nil, err
	}
	return s.change(r, func(ctx context.Context) error { return s.backend.IncreaseSize(ctx, id, n) })
}

func (s *Server) decrease(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := needed(r, "id")
	if err != nil {
		return nil, err
	}
	n, err := count(r)
	if err != nil {
		return nil, err
	}
	return s.change(r, func(ctx context.Context) error { return s.backend.DecreaseTargetSize(ctx, id, n) })
}

// scaleDown takes nodes from the body, or, as the original, one by its provider id as parameter id.
func (s *Server) scaleDown(w http.ResponseWriter, r *http.Request) (any, error) {
	group, err := needed(r, "nodegroupid")
	if err != nil {
		return nil, err
	}
	var nodes []externalgrpc.Node
	for _, id := range r.URL.Query()["id"] {
		nodes = append(nodes, externalgrpc.Node{ProviderID: id})
	}
	if nodes == nil && r.Method == http.MethodPost {
		var in Nodes
		if err := restapi.ReadJSON(w, r, &in); err != nil {
			return nil, err
		}
		for _, n := range in.Nodes {
			nodes = append(nodes, nodeFromWire(n))
		}
	}
	if len(nodes) == 0 {
		return nil, bad("nodes", "no node is named", "give nodes in the body, or ?id=PROVIDER-ID")
	}
	return s.change(r, func(ctx context.Context) error { return s.backend.DeleteNodes(ctx, group, nodes) })
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) (any, error) {
	var in NewGroup
	if err := restapi.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	if in.ID == "" || in.Like == "" || in.MinSize < 0 || in.MaxSize < in.MinSize {
		return nil, bad("id, like, minSize, maxSize", "a group needs a name, another that it is like, and bounds from 0 on", "see "+PathOpenAPI)
	}
	return s.change(r, func(ctx context.Context) error {
		return s.backend.CreateGroup(ctx, groupFromWire(in.NodeGroup), in.Like)
	})
}

func (s *Server) destroy(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := needed(r, "id")
	if err != nil {
		return nil, err
	}
	return s.change(r, func(ctx context.Context) error { return s.backend.DestroyGroup(ctx, id) })
}

func (s *Server) refresh(_ http.ResponseWriter, r *http.Request) (any, error) {
	return Done{Done: true}, s.backend.Refresh(r.Context())
}

func (s *Server) cleanup(_ http.ResponseWriter, r *http.Request) (any, error) {
	return Done{Done: true}, s.backend.Cleanup(r.Context())
}
