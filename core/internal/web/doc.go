// Package web makes HTTP servers that are closed by default: what a path gives without a token is named, and all else wants one.
//
// # Checks
//
// Each request goes through these, in this order:
//
//	connections   128 at a time; 5 s for a header, 10 s for a request, 16 KiB of headers
//	browsers      a request that a page of another site has made is refused (Origin, Sec-Fetch-Site)
//	open paths    health: GET and HEAD only; no token, nothing is read of a body
//	host          an address, localhost, this machine's name or a name that no stranger can own; else it may be DNS rebinding
//	closed paths  if this server has none, the answer is 404 and no token is looked at
//	token         Authorization or X-Ray-Authorization: Bearer; no cookies, because browsers send those by themselves
//	body          1 MiB
//
// A refusal has a status and one line, and tells nothing about the cluster. A token that is no 64 hexadecimal digits costs a slow hash, so such
// tokens are tried twice a second at most.
//
// # Goroutines and locks
//
// Serve has one goroutine for the listener, and one for each connection, which net/http makes. tokens.mu guards what is known of texts.
package web
