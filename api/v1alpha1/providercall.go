package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProviderCall is a question to an external gRPC provider with its answer, or a change that it was asked for. A question that is asked again
// and answered otherwise is an update of the same object; each change is an object of its own.
type ProviderCall struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ProviderCallSpec `json:"spec"`
}

// ProviderCallSpec is a call as it was on the wire.
type ProviderCallSpec struct {
	// Method of clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider, such as NodeGroupTargetSize.
	Method string `json:"method"`
	// Request and Response are the messages as JSON (protojson), without spaces. Response is empty where there was an error.
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	// Code is the status code by its gRPC name, such as NotFound; empty is OK. Message is the error's text.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// DeepCopy returns a copy that shares nothing with c.
func (c *ProviderCall) DeepCopy() *ProviderCall {
	if c == nil {
		return nil
	}
	out := new(ProviderCall)
	*out = *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// DeepCopyObject implements runtime.Object.
func (c *ProviderCall) DeepCopyObject() runtime.Object { return c.DeepCopy() }
