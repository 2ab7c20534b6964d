package play

import "os"

// workerName is the first argument of a process that plays a worker.
const workerName = "played-worker"

// Roles plays the zygote or the worker as which this process was started, and
// ends with it. In the process that runs the tests it does nothing. A worker
// runs the given function, or Worker when it is nil.
func Roles(worker func(sock, token string) int) {
	if worker == nil {
		worker = Worker
	}
	if len(os.Args) >= 3 && os.Args[1] == "-m" {
		os.Exit(zygote())
	}
	if len(os.Args) == 3 && os.Args[0] == workerName {
		os.Exit(worker(os.Args[1], os.Args[2]))
	}
}
