// Package process has what the long-running processes of the program share: the warden, the head and the daemon. It knows none of
// their roles.
//
// Such a process begins apart from the terminal of its starter (Isolate), reads its configuration (ConfigText), listens for other
// nodes (Listen), and says to its starter that it is ready or why it cannot start (Parent). BadConfig marks an error as the user's,
// who asked for what cannot be had. The numbers of the processes are in files of the session's folder (WritePid, PidOf). Processes of
// a cluster with several nodes read the cluster's token where TokenSource says, and show each other a Certificate.
//
// WebConfig.ServeWeb serves over HTTP what the process with the head role has to say: its health, and the jobs of the cluster (package jobweb).
//
// Parent.Gone runs a goroutine that reads the starter's socket until it ends. There are no locks: each value belongs to one goroutine,
// and Certificate.Renew changes only its pki.Keys, which have a lock of their own.
package process
