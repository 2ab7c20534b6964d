package templates

import (
	"unique"
	"unsafe"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Template is what the calls of one function with one set of options share.
type Template[C any] struct {
	Kind       int
	Name       string // for people
	FID        []byte // 16 bytes: hash of the pickled function
	Blob       []byte // the pickled function
	Method     string
	Returns    int
	MaxRetries int  // system failures; -1: without end
	RetryErrs  bool // exceptions too
	MaxCalls   int  // 0: no limit
	Resources  map[string]int64
	EnvKey     string
	Strategy   string
	Fallback   []*Template[C] // alternatives: Resources and MaxCalls, and Name, FID and Blob of another function
	AfterMs    int64          // how long Resources are waited for before Fallback is looked at
	Enforce    bool           // end a worker that exceeds its gpu_memory
	MoreMemory bool           // a retry after the machine ran out of memory asks for twice as much
	Flow       frame.Flow     // of a generator
	Group      string         // concurrency group in which a method runs, empty for the default one
	Unordered  bool           // a call of a method whose arguments are late holds no later call back
	Hidden     bool           // its tasks are left out of lists of tasks
	Near       uint32         // the number of the node on which large arguments of its tasks lie; 0: they have none. See near.go

	ID    int // its number in the table
	Class *C  // of a function; nil for a method

	Forget           bool         // the program cannot call the function any more
	Open             int          // tasks without an answer
	finished, failed uint64       // of its tasks
	Larger           *Template[C] // what a retry with more memory runs as, once there was one
	base             *Template[C] // of a template with Near, see near.go; nil: it is gone
	nears            map[uint32]*Template[C]
	roams            bool // its tasks may go to their large arguments
	retired          bool // the program cannot call it any more
	recipes          int  // finished tasks that are kept to run again
	whole            unique.Handle[string]
	maker            uint32 // number of its name, see core/internal/sites
}

// CallsUntilLeak as Template.MaxCalls ends a worker whose device memory grows.
const CallsUntilLeak = -1

// Maker returns the number of the template's name.
func (t *Template[C]) Maker() uint32 { return t.maker }

// KindName says what the calls of the template are, for people.
func (t *Template[C]) KindName() string {
	if t.Kind == frame.KindMethod {
		return "method"
	}
	return "task"
}

// Retire notes that the program cannot call the template any more.
func (t *Template[C]) Retire() { t.retired = true }

// Retired reports whether the program cannot call the template any more.
func (t *Template[C]) Retired() bool { return t.retired }

// Submitted counts a task that has no answer yet.
func (t *Template[C]) Submitted() { t.Open++ }

// Ended counts the end of a task. It reports whether that was the last task of a function
// that the program cannot call any more.
func (t *Template[C]) Ended(failed bool) (last bool) {
	if failed {
		t.failed++
	} else {
		t.finished++
	}
	t.Open--
	return t.Open == 0 && t.Forget
}

// RecipeKept counts a finished task that is kept to run again, RecipeGone one that is kept no longer.
func (t *Template[C]) RecipeKept() { t.recipes++ }

// RecipeGone is the opposite of RecipeKept.
func (t *Template[C]) RecipeGone() { t.recipes-- }

// Append encodes the template's frame, with the function's code or without.
func (t *Template[C]) Append(b []byte, withBlob bool) []byte {
	x := frame.Template{
		ID: uint64(t.ID), Kind: t.Kind, FID: t.FID, Name: t.Name, Method: t.Method, Returns: t.Returns, MaxCalls: t.MaxCalls,
		Once: t.Kind == frame.KindTask && t.MaxRetries == 0, Flow: t.Flow, Group: t.Group,
	}
	if withBlob {
		if x.Blob = t.Blob; x.Blob == nil { // the code of a large class is elsewhere, and its worker asks for it
			x.Blob = []byte{}
		}
	}
	return frame.AppendTemplate(b, &x)
}

// Intern keeps one copy of each function, for as long as somebody has it.
func (t *Template[C]) Intern() {
	if len(t.FID) == 0 || len(t.Blob) == 0 {
		return
	}
	t.whole = unique.Make(string(t.Blob))
	s := t.whole.Value()
	t.Blob = unsafe.Slice(unsafe.StringData(s), len(s)) // nobody writes to it
}

// GroupID returns the id of the placement group in which its tasks run, nil for none.
func (t *Template[C]) GroupID() []byte {
	if id, in := strategy.GroupOf(t.Strategy); in {
		return id[:]
	}
	return nil
}
