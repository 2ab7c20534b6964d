package refs

// Why says whether an object can be computed again, and if not, why not.
type Why uint8

// A recipe is Whole until it is dropped. The other reasons are also those of
// objects that never had a recipe.
const (
	Whole     Why = iota
	Forgotten     // the recipe was dropped to bound the memory of lineage
	Exhausted     // its task has used all its retries
	NoRetries     // its task was submitted without retries
	Off           // lineage is switched off
	Freed         // the program freed the value by hand
)

// Recipe is a finished task that is kept to compute its results again, should
// they be lost. The table keeps the entries of the objects that the task took.
// It also keeps the values of those that cannot be computed again themselves.
// The values of the others go when nobody holds them, and are computed again when
// they are needed.
type Recipe struct {
	task  Task
	bytes uint64
	needs []*Object // of ours
	why   Why

	results      int  // how many objects it can compute
	running      bool // the task runs again
	older, newer *Recipe
	listed       bool
}

// NewRecipe returns the recipe of a finished task that took these objects of ours. Record puts it to use.
func NewRecipe(k Task, needs []*Object) *Recipe {
	return &Recipe{task: k, bytes: k.LineageBytes(), needs: needs}
}

// NoRecipe is the recipe of objects that cannot be computed again, and says why.
func NoRecipe(w Why) *Recipe { return missing[w] }

var missing = func() (m [Freed + 1]*Recipe) {
	for w := Forgotten; w <= Freed; w++ {
		m[w] = &Recipe{why: w}
	}
	return m
}()

// Task returns the task that computes the results again, nil when the recipe was dropped.
func (r *Recipe) Task() Task { return r.task }

// Needs returns the objects of ours that the task takes. The slice is the recipe's.
func (r *Recipe) Needs() []*Object { return r.needs }

// Bytes is how much memory the recipe takes.
func (r *Recipe) Bytes() uint64 { return r.bytes }

// Why says whether the recipe can compute anything, and if not, why not.
func (r *Recipe) Why() Why { return r.why }

// Running reports whether the recipe's task runs again.
func (r *Recipe) Running() bool { return r.running }

// Recomputable reports whether the object can be computed again.
func (o *Object) Recomputable() bool { return o.recipe != nil && o.recipe.why == Whole }
