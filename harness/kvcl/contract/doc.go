// Package contract is the behaviour every kvcl.ControlPlane must have, as a test suite.
//
// A control plane runs it from its own tests with [Run]. The cases share one control plane and clean up after
// themselves through Apply, so a run costs three boots.
package contract
