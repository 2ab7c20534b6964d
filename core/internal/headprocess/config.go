package headprocess

import "github.com/eagleray/eagleray/core/internal/process"

// Config is what a head is started with, as JSON.
type Config struct {
	Listen   string              `json:"listen"`             // HOST:PORT; without a host: all addresses of the machine
	AnyPort  bool                `json:"any_port,omitempty"` // take a free port when that one is taken
	Host     string              `json:"host,omitempty"`     // what other machines call this one; empty: its address
	Join     []string            `json:"join,omitempty"`     // HOST:PORT of heads of the cluster to join; none: begin a cluster
	Insecure bool                `json:"insecure,omitempty"`
	Token    process.TokenSource `json:"token"`
	State    StateDir            `json:"state"`
	Web      *process.WebConfig  `json:"web,omitempty"`     // nil: nothing is served over HTTP
	NoJobs   bool                `json:"no_jobs,omitempty"` // nothing but health is served over HTTP

	// NodeTimeout is after how many seconds of silence a node is dead; 0: as the state says, else alive.DefaultDead.
	NodeTimeout float64 `json:"node_timeout,omitempty"`

	// ExclusiveActors says whether actors are exclusive whose creators have not said it; nil: as the state says, else they are not.
	ExclusiveActors *bool `json:"exclusive_actors,omitempty"`
}

// Said is what a head says behind "ready", as JSON.
type Said struct {
	Port   int    `json:"port"`
	Local  string `json:"local"` // HOST:PORT for processes of this machine
	Number uint32 `json:"number"`
	Former bool   `json:"former,omitempty"` // it goes on with the cluster of a former run
}
