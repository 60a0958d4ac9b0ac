// Package v1alpha1 is the API of KubeElasti's ElastiService, `elasti.truefoundry.com/v1alpha1`: which workload is scaled to zero and back, and
// by which triggers. Objects that KubeElasti takes are taken here; what is added, conditions in the status and targets of any kind with a scale
// subresource, an API server with KubeElasti's own definition drops or refuses.
//
// Fields, defaults and bounds are those of https://github.com/KubeElasti/KubeElasti, operator/api/v1alpha1 and config/crd/bases; probe responses,
// which its resolver serves, are kept as they are. crd.yaml is the definition, which a test holds equal to the types.
package v1alpha1
