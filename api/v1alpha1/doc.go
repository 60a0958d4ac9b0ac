// Package v1alpha1 is the one API type the project adds to Kubernetes' own: a NodeGroup, as it appears in object
// logs (`apiVersion: scalehist.io/v1alpha1, kind: NodeGroup`) and in histories. It is never served by an API server.
package v1alpha1
