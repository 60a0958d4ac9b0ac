package redact

import (
	"net/netip"
	"regexp"
	"strings"
)

var scheme = regexp.MustCompile(`^([a-z][a-z0-9+.-]*)://(.*)$`)

// providerID keeps the provider: "aws:///zone/machine".
func (r *rewriter) providerID(s string) string {
	m := scheme.FindStringSubmatch(s)
	if m == nil {
		return r.name("provider id", s)
	}
	return r.open("provider", m[1], openSchemes) + "://" + r.name("provider id", m[2])
}

// blobForm is the address of a disk that Azure does not manage.
var blobForm = regexp.MustCompile(`^https://([^./]+)\.blob\.core\.windows\.net/([^/]+)/(.+)\.vhd$`)

// armWords are the parts of the path of a disk that Azure manages; the API server looks for the first.
var armWords = words(`subscriptions resourceGroups providers Microsoft.Compute disks`)

// diskURI keeps which kind of disk of Azure it is: "/subscriptions/NAME/resourceGroups/NAME/...".
func (r *rewriter) diskURI(s string) string {
	if m := blobForm.FindStringSubmatch(s); m != nil {
		return "https://" + r.name("disk", m[1]) + ".blob.core.windows.net/" + r.name("disk", m[2]) + "/" + r.name("disk", m[3]) + ".vhd"
	}
	parts := strings.Split(s, "/")
	for i := range parts {
		parts[i] = r.open("disk", parts[i], armWords)
	}
	return strings.Join(parts, "/")
}

// image keeps that it is the cluster-autoscaler's, and of which version: settings are read from it.
func (r *rewriter) image(s string) string {
	path, digest, digested := strings.Cut(s, "@")
	tag, tagged := "", false
	if i := strings.LastIndexByte(path, ':'); i > strings.LastIndexByte(path, '/') {
		path, tag, tagged = path[:i], path[i+1:], true
	}
	host, rest, hasHost := strings.Cut(path, "/")
	name, port, hasPort := strings.Cut(host, ":")
	out := r.name("image", name)
	if hasPort {
		out += ":" + r.name("image", port)
	}
	if hasHost {
		out += "/" + r.name("image", rest)
	}
	if tagged {
		if autoscalerImage(path) {
			out += ":" + r.release("image", tag)
		} else {
			out += ":" + r.name("image", tag)
		}
	}
	if digested && !r.collecting {
		out += "@sha256:" + hexOf(r.options.Salt, "digest", digest, 64)
	}
	if !r.collecting {
		r.mapping.note("image", s, out)
	}
	return out
}

func autoscalerImage(path string) bool {
	return strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], "cluster-autoscaler")
}

// openAddresses are those.
var openAddresses = words(`0.0.0.0 127.0.0.1 :: ::1`)

// hostIP keeps the addresses that every host has; others become one of a block that is never used (240.0.0.0/4).
func (r *rewriter) hostIP(s string) string {
	if r.collecting || s == "" || openAddresses[s] {
		return s
	}
	h := mac(r.options.Salt, "ip", s)
	now := netip.AddrFrom4([4]byte{240 | h[0]&7, h[1], h[2], h[3]}).String()
	r.mapping.note("address", s, now)
	return now
}
