// Package calls records what a cluster-autoscaler asks of an external gRPC provider, and what it is answered, into a history, and
// compares two such recordings: of two autoscalers before one provider, or of two providers behind one autoscaler.
//
// A cluster-autoscaler asks the same questions in every loop. A question is one object, and a version of it is an answer that differs from the
// one before; each change that is asked for is an object of its own. So a day of loops in which nothing happens costs no more than its first.
package calls
