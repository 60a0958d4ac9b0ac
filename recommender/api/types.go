package api

import (
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/recommender"
)

// Version is the apiVersion of every request and answer.
const Version = "recommender.scalehist.io/v1"

// The paths of the API.
const (
	PathRecommend  = "/v1/recommend"
	PathStrategies = "/v1/strategies"
	PathOpenAPI    = "/openapi.json"
)

// Request asks for a recommendation: the cluster at one instant, and the terms.
type Request struct {
	// APIVersion is recommender.scalehist.io/v1.
	APIVersion string `json:"apiVersion"`
	// Now is the instant of the snapshot. It is needed, unless Snapshot says it.
	Now time.Time `json:"now,omitzero"`
	// Objects are the cluster's: plain Kubernetes objects with apiVersion and kind, and NodeGroup objects of
	// scalehist.io/v1alpha1. Those of one kind are in the order of their creation, in which equals are taken. A List of
	// them, as kubectl prints it, is taken for its items.
	Objects []Object `json:"objects,omitempty"`
	// Snapshot is a cluster as a replay report has it, made with whole objects. Objects are added to it; NodeGroups, if
	// there are any, replace its own.
	Snapshot *scalehist.ClusterSnapshot `json:"snapshot,omitempty"`
	recommender.Terms
}

// Response answers a Request.
type Response struct {
	// APIVersion is recommender.scalehist.io/v1.
	APIVersion     string                      `json:"apiVersion"`
	Recommendation *recommender.Recommendation `json:"recommendation"`
	// Warnings say what the request lacks, and what that does to the answer.
	Warnings []string `json:"warnings,omitempty"`
	// Run differs by nature between two answers; it is not to be compared.
	Run *Run `json:"run,omitempty"`
}

// Run is what differs by nature between two answers.
type Run struct {
	// RunTime is how long the recommendation took, a Go duration: "12.5ms".
	RunTime   scalehist.Duration `json:"runTime"`
	RequestID string             `json:"requestId,omitempty"`
	// Server is what answered, with its version.
	Server string `json:"server,omitempty"`
}

// StrategyList is what a recommender can be asked for.
type StrategyList struct {
	// APIVersion is recommender.scalehist.io/v1.
	APIVersion string `json:"apiVersion"`
	// Name is what the recommender calls itself; reports of replays have it.
	Name string `json:"name"`
	// Strategies and Scorings are the names a request may have; the first strategy is the default.
	Strategies []string `json:"strategies"`
	Scorings   []string `json:"scorings,omitempty"`
	// Weights are those of a request that has none.
	Weights recommender.Weights `json:"weights,omitempty"`
}

// Problem is an error on the wire (RFC 9457, application/problem+json).
type Problem = restapi.Problem
