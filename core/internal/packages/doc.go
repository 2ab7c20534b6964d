// Package packages brings the folders of runtime environments (working_dir, py_modules) to the nodes that run tasks and actors with them. A package is the
// stream that package archive makes of a folder, and is named by the SHA-256 of that stream.
//
// # The way of a package
//
// The daemon of the process that names a folder packs it once for the job (Store.Pack) and brings the package to the head, which keeps it in a folder on its disk (Depot). If
// the head has the package already, only the hash is sent. The daemon of another node gets the package from the head before the first zygote starts that needs it (Store.Place), checks its
// hash, and unpacks it into the session's folder. All jobs with the same contents share the package there, and the environment's paths are changed to lead to it. On the
// node that has packed the folder nothing changes: its workers use the folder itself.
//
// With several heads, the head that is asked to keep a package sends the package to the other heads (Depot.spread), and answers the node when a majority of those with a
// vote have it on their disks. A head that is asked for a package that it lacks gets it from another head first (Depot.obtain). Each head also looks at what
// the others have for running jobs, and copies what it lacks: at its start, when the heads change, and every 30 s (Depot.Follow).
//
// The head has the package because a detached actor, or a task that is tried again, may need it when the node that packed it is gone. The package is not in the cluster's state,
// which is in memory and is written as a whole from time to time.
//
// # How long a package is kept
//
// Packages belong to jobs, and a job lasts as long as its detached actors. The Depot notes on its disk which jobs use a package, beside the package; a
// later process of the head reads that, and removes the packages of ended jobs when it has read the cluster's state. The Store drops a package when no job of this node
// uses it any more: at once for a job that has ended (Ended) if no worker of it is left (Left), and after keepIdle for a job that only has nothing to do here.
//
// # On the connection
//
// Each question is a bulk connection of its own to the head (protocol.go): a request of fixed size, then an answer with a length or a text. The bytes of the package follow in one of the
// two directions. While a head asks other heads, it says so every 5 s. What cannot be done now, such as keeping a package without a majority of the heads, is tried again for a minute. An end that hears nothing for stall gives up. What is received is capped, and counts only if its hash is right.
//
// # Locks and goroutines
//
// A Store has one goroutine for each package that it gets, which ends with the Store or when nobody waits for the package any more. Packing runs on the caller's goroutine. In a Depot, Serve runs on the
// goroutine of its connection, Follow on the caller's; it has one for each package on its way to or from another head, which ends with Close. Each has one lock, which guards its tables; nothing waits for the network or for the contents of a package with it held.
package packages
