// Package kvcl is the virtual cluster: a real kube-apiserver and etcd started by envtest, and the real kube-scheduler
// in this process, cranked by hand in virtual time. What kubelets and controllers would have done and scaling depends
// on is done by the small parts in kvcl/virtual.
//
// There is one scheduler: pods whose spec.schedulerName names another are scheduled by it as well, with upstream's rules.
// They keep the name in the API server and in Cluster.
//
// It knows nothing of histories, autoscalers or reports.
package kvcl
