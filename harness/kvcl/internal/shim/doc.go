// Package shim makes a child process die with its parent.
//
// A kvcl starts kube-apiserver and etcd through links named after them that point at this very program. The package's
// init sees that it runs under such a link, asks the kernel to kill the process when the parent goes, writes down
// which process this is, and becomes the real binary. It runs before main and before most other packages are set up.
//
// It must import nothing but the standard library, so that it is initialised early and starts fast.
package shim
