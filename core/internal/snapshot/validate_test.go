package snapshot

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// sound is a snapshot that has something of everything and that is valid.
func sound() *Submitter {
	actor := make([]byte, ids.ActorSize)
	return &Submitter{
		Version:   Version,
		Templates: []Template{{Kind: frame.KindTask, Fallback: []Template{{}}}, {Kind: frame.KindMethod}},
		Tasks:     []Task{{Returns: 1}, {Template: 1}, {}, {Template: 1}, {Template: 1, Aside: actor}, {Place: PlaceLost}},
		Actors:    []Actor{{ID: actor, Calls: []int{1}, Creation: &Creation{Template: Template{Kind: frame.KindTask}}}},
		Channels:  []Channel{{LeaseID: 3, Tasks: []int{0}}, {ActorID: actor, Tasks: []int{3}}},
		Recipes:   []Recipe{{Again: -1, Actor: actor}, {Again: 2}},
		Lost:      []Lost{{LeaseID: 4, Tasks: []int{5}}},
		Homes:     []Home{{Node: 2}},
	}
}

// A snapshot that no submitting half can have written is refused with what is wrong,
// because it comes from a process whose memory may be corrupt.
func TestValidate_SnapshotThatNoProcessWrote_IsRefused(t *testing.T) {
	for words, change := range map[string]func(*Submitter){
		"of version 4, and this process reads version 3": func(s *Submitter) { s.Version++ },
		"it has -1 results":                 func(s *Submitter) { s.Tasks[2].Returns = -1 },
		"and 16777217 items":                func(s *Submitter) { s.Tasks[2].Items = mostRestored + 1 },
		"have more than 16777216 results":   func(s *Submitter) { s.Tasks[2].Items = mostRestored },
		"it is at place 3":                  func(s *Submitter) { s.Tasks[2].Place = PlaceLost + 1 },
		"whose id has 5 bytes":              func(s *Submitter) { s.Tasks[4].Aside = []byte("xxxxx") },
		"it has -2 results":                 func(s *Submitter) { s.Actors[0].Creation.Task.Returns = -2 },
		"the id of an actor has 1 bytes":    func(s *Submitter) { s.Actors[0].ID = []byte("x") },
		"occurs twice":                      func(s *Submitter) { s.Actors = append(s.Actors, Actor{ID: s.Actors[0].ID}) },
		"has a template of kind":            func(s *Submitter) { s.Actors[0].Creation.Template.Kind = frame.KindMethod },
		"leads to actor 78787878":           func(s *Submitter) { s.Channels[1].ActorID = []byte("xxxx") },
		"which is not part of the snapshot": func(s *Submitter) { s.Channels[1].ActorID = append([]byte{9}, s.Channels[1].ActorID[1:]...) },
		"lease 3 has two channels":          func(s *Submitter) { s.Channels = append(s.Channels, Channel{LeaseID: 3}) },
		"concurrency groups of the actor":   func(s *Submitter) { s.Channels[1].Filled = make([]string, frame.MaxGroups+3) },
		"is of kind 9":                      func(s *Submitter) { s.Templates[0].Kind = 9 },
		"an alternative of template":        func(s *Submitter) { s.Templates[0].Fallback[0].Fallback = make([]Template, 1) },
		"alternatives, at most":             func(s *Submitter) { s.Templates[0].Fallback = make([]Template, wire.MaxAlternatives+1) },
		"there is no task 6, of 6":          func(s *Submitter) { s.Channels[0].Tasks = []int{6} },
		"lease 3, whose worker has ended":   func(s *Submitter) { s.Lost[0].LeaseID = 3 },
		"task 0 is at two places":           func(s *Submitter) { s.Lost[0].Tasks = []int{0} },
		"there is no task 7, of 6":          func(s *Submitter) { s.Lost[0].Tasks = []int{7} },
		"there is no task -1, of 6":         func(s *Submitter) { s.Actors[0].Calls = []int{-1} },
		"two calls on the channel to /worker have number 7": func(s *Submitter) {
			s.Channels[0].Addr, s.Channels[0].Tasks, s.Tasks[0].Seq, s.Tasks[2].Seq = "/worker", []int{0, 2}, 7, 7
		},
		"task 1 is at two places":                                         func(s *Submitter) { s.Channels[1].Tasks = []int{1} },
		"task 2 is of template 2, of 2":                                   func(s *Submitter) { s.Tasks[2].Template = 2 },
		"task 2 is of template -1, of 2":                                  func(s *Submitter) { s.Tasks[2].Template = -1 },
		"task 2 is another kind of task than its template":                func(s *Submitter) { s.Tasks[2].Template = 1 },
		"task 3 is another kind of task than its template":                func(s *Submitter) { s.Tasks[3].Template = 0 },
		"task 6, of 6, runs again":                                        func(s *Submitter) { s.Recipes[1].Again = 6 },
		"a finished task is of template 2, of 2":                          func(s *Submitter) { s.Recipes[0].Task.Template = 2 },
		"a finished task is of template -1, of 2":                         func(s *Submitter) { s.Recipes[0].Task.Template = -1 },
		"a finished task: it has 0 results and 1152921504606846976 items": func(s *Submitter) { s.Recipes[0].Task.Items = 1 << 60 },
		"a finished task is a call of an actor whose id has":              func(s *Submitter) { s.Recipes[0].Actor = []byte("x") },
	} {
		s := sound()
		change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", words, err)
		}
	}
	for what, change := range map[string]func(*Submitter){
		"all is well":    func(*Submitter) {},
		"many items":     func(s *Submitter) { s.Tasks[2].Items = mostRestored - 1 },
		"no constructor": func(s *Submitter) { s.Actors[0].Creation = nil },
		"many groups":    func(s *Submitter) { s.Channels[1].Filled = make([]string, frame.MaxGroups+2) },
	} {
		s := sound()
		change(s)
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
