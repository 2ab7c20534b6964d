// Package values has the values of the cluster's state. A value is its bytes, or the name of a large value, which is a file of the heads. Counts
// says how many records name each large value, so that a file that nothing names can go.
//
// The counts follow from the records: a snapshot does not have them, and reading one counts again. Equal values are one file, and count as one towards
// record.MaxAllBlobBytes.
//
// The package has no clock, no goroutine and no lock. The files: value.go has a value, counts.go the counts.
package values
