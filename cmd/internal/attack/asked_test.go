package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAnswers: a command that asks a server ends well whatever that answers, in every way of answering.
func TestAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scalehist some dozen times")
	}
	r := attacker(t)
	good := []byte(`{"apiVersion":"recommender.scalehist.io/v1","recommendation":{"strategy":"any","scoring":"any","scaleUps":[{"nodeGroup":"shoot--demo--aws-p1-z1","count":1}],"optimality":{}}}`)
	for _, x := range targets() {
		if x.asks == "" || x.command == "sweep" || strings.Contains(x.args, "per-event") { // they ask as a replay does
			continue
		}
		ways := slices.Clone(answerDeliveries)
		slices.Sort(ways)
		for _, how := range slices.Compact(ways) {
			t.Run(fmt.Sprintf("%s/%s/%s", x.command, x.kind, how), func(t *testing.T) {
				t.Parallel()
				input := good
				if x.kind == strategiesKind {
					input = []byte(askedStrategies)
				}
				wrong, err := r.run(t.Context(), attack{target: x, input: input, Delivery: how}, t.TempDir())
				if err != nil || len(wrong) > 0 {
					t.Errorf("%v\n%s", err, strings.Join(wrong, "\n"))
				}
			})
		}
	}
}
