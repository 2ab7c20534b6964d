// Package fault holds the errors that cross process boundaries. Each has a
// stable code; the Python package maps codes to its exception hierarchy in one
// table (python/eagleray/_private/faults.py). A fault wraps no Go error: what
// it says is all that the other side may know.
package fault
