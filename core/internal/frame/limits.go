package frame

// How many bytes of values travel in one frame. What is larger goes through the object store.
const (
	MaxTogether = 4 << 20   // of all values that are larger than SmallValue
	MaxInFrame  = 16 << 20  // of all values
	SmallValue  = 1 << 10   // of a value that is too small to be worth the store
	MaxInline   = 100 << 10 // of the envelope of a value that travels in a message; a larger one lies in the store
)

// MaxGroups is how many concurrency groups an actor may declare. An actor tells its callers which groups take no more calls.
const MaxGroups = 1000
