// Package fault holds the errors that cross process boundaries. Each has a
// stable code; the Python package maps codes to its exception hierarchy in one
// table (python/eagleray/_private/faults.py). A fault wraps no Go error: its
// text is all that the other process may know.
package fault
