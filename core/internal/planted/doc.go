// Package planted holds bugs on purpose. They exist only in builds with the tag
// planted. There the environment variable EAGLERAY_PLANT=name chooses one bug; with
// EAGLERAY_PLANT=name/n the bug happens every n-th time that it could (20 by default).
// In all other builds Strikes is a constant, and the compiler removes the code that it
// guards. `make robust` builds such a variant and shows that its checks find each bug.
package planted

// Bug is one of the bugs.
type Bug string

// The bugs, each with what goes wrong.
const (
	SkippedCount Bug = "skipped_count" // an owner is not told of a borrower
	EarlyFree    Bug = "early_free"    // a value does not keep what it contains
	LostReturn   Bug = "lost_return"   // an owner is not told that a borrower lets go
	KeptPin      Bug = "kept_pin"      // a task that ends does not release its arguments
	LostRetry    Bug = "lost_retry"    // a task is dropped when its worker dies
	LostReply    Bug = "lost_reply"    // an answer is not sent
	LostItem     Bug = "lost_item"     // a generator's item is not sent
	LeftFile     Bug = "left_file"     // a file of spilled objects stays on disk
	WrongOrder   Bug = "wrong_order"   // calls of an actor that restarts are sent in another order
	EarlyClose   Bug = "early_close"   // a broken connection between two nodes is taken for the other node's death
	LateNews     Bug = "late_news"     // the owner's node hears of an object after whoever gets a reference to it
	KeptCopy     Bug = "kept_copy"     // another node does not hear that an object is freed
	NoWord       Bug = "no_word"       // the end of a killed node is not told
	DeafDead     Bug = "deaf_dead"     // a node that was declared dead goes on
	BlindPromise Bug = "blind_promise" // an exclusive actor does not look whether the cluster counts on its node
	DoubleApply  Bug = "double_apply"  // a change that is asked for again, because its answer was lost, is applied again
	StaleRead    Bug = "stale_read"    // a fresh read is answered without asking whether this head still leads
	EarlyAck     Bug = "early_ack"     // a change is acknowledged before a majority of the heads has it
	SkippedSync  Bug = "skipped_sync"  // a head's log says that entries are on the disk, and they are not
	LostDedup    Bug = "lost_dedup"    // a snapshot has no answered requests
	NoFence      Bug = "no_fence"      // what a leader has decided is applied in a later term
)
