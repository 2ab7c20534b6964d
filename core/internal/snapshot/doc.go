// Package snapshot has the document in which a process hands its tasks and calls over to a
// successor: plain data, its version and its validation.
//
// Submitter is the whole document. Its rows name each other by their places in the lists of
// the document, and objects by their raw ids: the objects belong to the reference table,
// whose snapshot (refs.Snapshot) goes along. The bytes that wait in the sockets of the
// channels belong to the session. Package submit writes the document from its machine and
// restores the machine from it; package handover sends it.
//
// Validate refuses a document that no process can have written, before anything is restored
// from it: the process that wrote it may have had corrupt memory. The package does not know
// which objects there are. It has no lock and no goroutine.
package snapshot
