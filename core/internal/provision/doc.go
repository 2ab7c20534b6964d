// Package provision provides what runtime environments need on a node beyond the files that package packages brings: virtual environments of pip and uv, unpacked
// archives, and what is downloaded. Each is a folder of the session, made by a Python program (eagleray._private.worker.making) that runs with the
// interpreter and the variables of the environment.
//
// # How a folder is made
//
// Provide goes through the needs of an environment in their order. A folder is named by a hash of all that it is made of: the need, the interpreter, the hash of its package, and, if the
// need says so, what was provided before it. The first caller starts the program; others who need the same folder wait for it. The program gets a request as one line of JSON on
// its standard input, makes the folder, and answers with one JSON document on descriptor 3. What it writes beside that goes to a file in the session's folder logs.
// A folder that was not finished is removed: there is never half a folder that somebody could take for a whole one.
//
// If nobody waits for a folder any more, its program ends: it kills itself, with all that it has started, when its standard input closes. So it also ends when the daemon is killed.
//
// A failure is remembered for a short while (failureKept), so that workers that are started one after the other for the same environment fail at once with the same text.
//
// # How long a folder is kept
//
// A folder is in use from Provide until Provided.Free. Folders that are not in use stay, for the next task that needs the same, until those of their field together are larger
// than the cap of that field. Then those that were not used for the longest time are removed. All are removed when the Store closes.
//
// # Locks and goroutines
//
// Each folder that is being made has one goroutine, which ends with its program. Removing runs on goroutines of its own. Close waits for all. Store.mu guards the table;
// nothing waits for a program or for the disk with it held.
//
//	store.go    the table: who waits, who uses, what is removed
//	program.go  one run of the program
//	caps.go     the caps, from the node's variables
package provision
