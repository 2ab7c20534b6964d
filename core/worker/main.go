package worker

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/gozygote"
	"github.com/eagleray/eagleray/core/internal/inside"
	"github.com/eagleray/eagleray/core/internal/wire"
)

var role = gozygote.Role()

// Started reports whether a cluster has started this process to run what it registers. A program that does other things, too, asks before
// it does those:
//
//	if worker.Started() {
//		worker.Main()
//	}
func Started() bool { return role != "" }

// Main runs calls until the cluster has no more of them, and does not return. Call it when everything is registered. When a person has
// started the program, it says how the program is used, and exits with status 2.
func Main() {
	switch role {
	case gozygote.RoleZygote:
		if err := gozygote.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case gozygote.RoleWorker:
		fmt.Fprintln(os.Stderr, "this worker cannot go on:", run())
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, usage())
	os.Exit(2)
}

func usage() string {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	registered.mu.Lock()
	defer registered.mu.Unlock()
	return fmt.Sprintf("%s is a worker program of Eagle Ray, which a cluster starts. It has registered %s, and %s. Python calls them by\n"+
		"ray.cross_language.go_function(NAME, worker=%q), Go by Session.GoFunction(NAME, core.Call{GoWorker: %q}).",
		filepath.Base(path), listed(registered.functions, "functions"), listed(registered.actors, "actors"), path, path)
}

// run is the life of a worker, which ends the process itself. It returns why that life has ended too early.
func run() error {
	start, err := gozygote.ReadStart()
	if err != nil {
		return err
	}
	gozygote.Name("eagleray-worker")
	for _, name := range hiddenVariables {
		os.Unsetenv(name)
	}
	s := newServer(registered)
	c, err := client.Connect(client.Options{Socket: start.Sock, Role: wire.RoleWorker, Token: start.Token, Exit: os.Exit, Interrupt: s.interrupt})
	if err != nil {
		return err
	}
	s.join(c, inside.Open(c, &start))
	return s.serve()
}
