// Package requests numbers the requests of a sender, and knows below which number all of them have ended. The sender says that
// with each request, so that who answers can forget the answers. There are no goroutines and one lock.
package requests
