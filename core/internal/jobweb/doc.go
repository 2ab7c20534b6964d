// Package jobweb answers the paths of submitted jobs over HTTP: /api/version, /api/jobs/ and /api/packages/. They are those of Ray, so that
// Ray's own client works with them.
//
// Package web has checked the token before a request comes here. What jobs are is known to a Python process, the server of jobs
// (python/eagleray/_private/jobs/server.py), which is a program of the cluster: it starts a supervising actor for each job. This package
// starts that process at the first request, and again if it has ended, and hands the requests over through a Unix socket. The process inherits the
// socket, and ends with its input, so it never outlives the head. It keeps nothing that it could not read again: the records of jobs
// are in the cluster's state.
//
// A job's log that is followed (…/logs/tail) is a WebSocket for the client. The server of jobs sends it as lines of JSON, which become
// messages here. A client that does not ask for a WebSocket gets the lines.
//
// # Goroutines and locks
//
// One goroutine waits for each process that was started. net/http has one for each connection; a followed log has one more, which notices
// that the client has gone. Server.mu guards which process runs, and is held while one is started.
package jobweb
