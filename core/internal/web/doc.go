// Package web makes HTTP servers that are closed by default: what a path gives without a token is named, and all else wants one.
//
// # Checks
//
// Each request goes through these, in this order:
//
//	connections   128 at a time, of which the oldest one of the address that has most gives way to a new one, unless it has shown a
//	              token; 5 s for a header, 10 s for a request, 16 KiB of headers
//	browsers      a request that a page of another site has made is refused (Origin, Sec-Fetch-Site)
//	open paths    health: GET and HEAD only; no token, nothing is read of a body, and the connection ends
//	host          an address, localhost, this machine's name or a name that no stranger can own; else it may be DNS rebinding
//	closed paths  if this server has none, the answer is 404 and no token is looked at
//	token         Authorization or X-Ray-Authorization: Bearer; no cookies, because browsers send those by themselves
//	              (not for a server that says NoToken, which listens at a loopback address)
//	body          1 MiB, unless Options.MaxBody says more
//
// A refusal has a status and one line, and tells nothing about the cluster. A token that is no 64 hexadecimal digits costs a slow hash, so such
// tokens are tried twice a second at most.
//
// # Goroutines and locks
//
// Serve has one goroutine for the listener, and one for each connection, which net/http makes. tokens.mu guards what is known of texts, bounded.mu the places. Nothing is
// called with one held. The files: web.go has the server and the checks, places.go the places of connections.
package web
