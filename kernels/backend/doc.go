// Package backend is what package kernels asks of a kind of device, and the
// vocabulary that both sides share: data types, views, programs, errors.
//
// kernels checks every argument (shapes, data types, devices, closed arrays,
// read-only memory) before it calls a back end; a back end may rely on that.
// It never retains a View after the call, or after the stream's work that the
// call queued. cpu and cuda implement Backend and import nothing else of the
// project.
package backend
