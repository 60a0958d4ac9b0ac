package scalehist

import (
	"slices"
	"time"
)

// Question is one thing that a verdict answers about a replay.
type Question string

// The questions. All compare the replay with the recording, up to where both go.
const (
	// QuestionScaledUp: by how many nodes each node group grew, all granted steps together.
	QuestionScaledUp Question = "scaled-up"
	// QuestionScaledDown: by how many nodes each node group shrank.
	QuestionScaledDown Question = "scaled-down"
	// QuestionUnschedulable: how many pods have no node when the comparison ends.
	QuestionUnschedulable Question = "unschedulable"
	// QuestionPeakSize: the largest target size of each node group.
	QuestionPeakSize Question = "peak-size"
	// QuestionSteps: which sizes were asked for, in which order and when, within one scan interval.
	QuestionSteps Question = "steps"
	// QuestionWaits: how long pods waited for a node, by magnitude.
	QuestionWaits Question = "waits"
)

// Questions are all questions, in the order of every verdict.
var Questions = []Question{QuestionScaledUp, QuestionScaledDown, QuestionUnschedulable, QuestionPeakSize, QuestionSteps, QuestionWaits}

// Decides says whether every verdict depends on the question. The others count where they are asked for: two runs of a real
// autoscaler do not take the same steps at the same second.
func (q Question) Decides() bool {
	return q == QuestionScaledUp || q == QuestionScaledDown || q == QuestionUnschedulable
}

// AnswerVerdict is how replay and recording compare in one question.
type AnswerVerdict string

// The verdicts on a question.
const (
	AnswerAgreed  AnswerVerdict = "agreed"
	AnswerDiffers AnswerVerdict = "differs"
	// AnswerUnknown: recording or replay do not show it; Answer.Text says why.
	AnswerUnknown AnswerVerdict = "unknown"
)

// Answer is the answer to one question.
type Answer struct {
	Question Question      `json:"question"`
	Verdict  AnswerVerdict `json:"verdict"`
	// Recorded and Replayed are what was seen, in words: "batch +3, std +4", "p50 0s, p95 1m18s"; empty where it is unknown.
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
	// Text is one line: what the answer means, what differs, or why it is unknown.
	Text string `json:"text"`
	// Groups are the node groups that differ, in nodes, where the question is about groups.
	Groups []GroupDifference `json:"groups,omitempty"`
}

// Agreement compares a replay with what was recorded: the verdict.
type Agreement struct {
	// Agreed: no question that decides has another answer than the recording (Agrees).
	Agreed bool `json:"agreed"`
	// Questions has an answer to each of Questions, in that order.
	Questions []Answer `json:"questions,omitempty"`
	// Asked are the further questions that Agreed depends on (replay --agree).
	Asked []Question `json:"asked,omitempty"`
	// Until is where the comparison ends when the replay went on after the recording: what came later is not compared.
	Until *time.Time `json:"until,omitempty"`
	// Groups are the node groups whose net change differs.
	Groups []GroupDifference `json:"groups,omitempty"`
	// Differences list where size, order or time of the steps differ, with the reason as far as it is known.
	Differences []Difference `json:"differences,omitempty"`
}

// GroupDifference is a node group that differs from the recording, in nodes.
type GroupDifference struct {
	NodeGroup string `json:"nodeGroup"`
	Recorded  int    `json:"recorded"`
	Replayed  int    `json:"replayed"`
}

// Difference is one step in which replay and recording differ.
type Difference struct {
	// Kind is "time", "order", "size", "missing" (recorded only) or "extra" (replayed only).
	Kind     string        `json:"kind"`
	Recorded *RecordedStep `json:"recorded,omitempty"`
	Replayed *RecordedStep `json:"replayed,omitempty"`
	Reason   string        `json:"reason"`
	// Within: it is no larger than the tolerance, so the question about steps does not count it.
	Within bool `json:"within,omitempty"`
}

// Answer is the answer to a question; false in reports that have none.
func (a *Agreement) Answer(q Question) (Answer, bool) {
	i := slices.IndexFunc(a.Questions, func(x Answer) bool { return x.Question == q })
	if i < 0 {
		return Answer{}, false
	}
	return a.Questions[i], true
}

// Ask makes Agreed depend on further questions.
func (a *Agreement) Ask(questions ...Question) {
	for _, q := range Questions {
		if slices.Contains(questions, q) && !q.Decides() && !slices.Contains(a.Asked, q) {
			a.Asked = append(a.Asked, q)
		}
	}
	a.Agreed = a.Agrees()
}

// Agrees says whether the replay agrees with the recording when these questions are asked besides Asked and those that
// always decide.
func (a *Agreement) Agrees(asked ...Question) bool {
	return len(a.Against(asked...)) == 0
}

// Against are the questions because of which Agrees is false, in order. A question that decides is among them when its answer
// differs; how far groups grew must be known as well, and so must be the answer to what is asked for by name.
func (a *Agreement) Against(asked ...Question) []Question {
	var out []Question
	for _, q := range Questions {
		byName := slices.Contains(asked, q) || slices.Contains(a.Asked, q)
		if !byName && !q.Decides() {
			continue
		}
		answer, known := a.Answer(q)
		known = known && answer.Verdict != AnswerUnknown
		if answer.Verdict == AnswerDiffers || !known && (byName || q == QuestionScaledUp) {
			out = append(out, q)
		}
	}
	return out
}

// Differing are the questions whose answer differs, in order, whether or not the verdict depends on them.
func (a *Agreement) Differing() []Question {
	var out []Question
	for _, x := range a.Questions {
		if x.Verdict == AnswerDiffers {
			out = append(out, x.Question)
		}
	}
	return out
}
