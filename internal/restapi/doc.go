// Package restapi is what the HTTP APIs of this module have in common: problems on the wire, request ids, who is let in. It knows nothing of what
// an API is about.
package restapi
