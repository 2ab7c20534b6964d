// Package userdir says where the sessions of this user are, and whether that folder is the user's own.
//
// The folder lies where every user may make folders, so another user can have made one with this user's name before. What is in a folder
// that is not this user's own is not believed: it would lead programs to a daemon of that other user. The Go API, the command line and
// the daemon all ask here; python/eagleray/_private/session/node.py has the same rules. The package keeps nothing and starts no goroutine.
package userdir
