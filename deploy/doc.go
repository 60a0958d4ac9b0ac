// Package deploy has the manifests of the recorder as a service, for kustomize, and the tests that hold them against a
// real API server, the recorder and its command line. It has no code of its own.
//
//   - account: namespace and service account; access: what the account may read in a recorded cluster; base: the service.
//   - overlays: what is applied. components: parts that overlays add.
package deploy
