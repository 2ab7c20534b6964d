package wire

import "strconv"

// Type names a control message. Numbers are never reused.
type Type uint16

// The control messages; their bodies are the structs of the same name.
const (
	THello Type = 1

	// Driver, worker or service → daemon.
	TJobStart    Type = 10 // call: JobStart → JobStarted
	TEnvDefine   Type = 11 // push
	TClassDefine Type = 12 // push
	TLeaseWant   Type = 13 // push
	TLeaseReturn Type = 14 // push
	TBlocked     Type = 15 // push: the worker's task waits; its CPUs are free
	TUnblocked   Type = 16 // push
	TWorkerReady Type = 17 // push: the worker listens and can take work
	TWorkerExit  Type = 18 // push: the worker is about to exit on purpose
	TJobEnd      Type = 19 // call: the driver leaves; answered when its output was sent
	TClusterInfo Type = 20 // call: nil or ClusterAsk → ClusterInfo
	TShutdown    Type = 21 // call: stop this daemon (CLI)
	TWhoHolds    Type = 22 // call: ClassTrouble → text: why a class or an actor waits
	TTakeOver    Type = 23 // call, from a successor: from now on it takes the place of its predecessor → TakenOver
	TGPUWatch    Type = 26 // call: nil → text: why gpu_memory_enforce cannot be had here, "" if it can
	TGPUUsed     Type = 27 // call, from a worker: nil → int64: bytes of GPU memory that it holds, -1: not known now, -2: never

	// Daemon → driver or worker.
	TLeaseGrant      Type = 30 // push
	TLeaseRecall     Type = 31 // push: LeaseID; others wait: finish what was sent, then return it
	TLeaseBroken     Type = 32 // push: the leased worker died
	TClassInfeasible Type = 33 // push: can never be met here
	TLogs            Type = 35 // push
	TActorStart      Type = 37 // push, to a worker: become this actor
	TActorStop       Type = 38 // push, to a worker: end after the calls that have arrived
	TExit            Type = 39 // call, to a worker: exit → ExitAnswer: what keeps the worker from exiting
	TRunning         Type = 45 // call, to a worker: nil → Running: what it runs now

	// Actors: any process → daemon (head role).
	TActorCreate  Type = 50 // call: ActorCreate → ActorCreated
	TActorResolve Type = 51 // call, answered when the actor is alive, dead or unschedulable: ActorResolve → ActorState
	TActorKill    Type = 52 // call: ActorKill
	TActorRelease Type = 53 // push: ActorID: the last handle went
	TActorByName  Type = 54 // call: ActorByName → ActorNamed
	TActorNames   Type = 55 // call: ActorNames → []ActorName
	TActorReady   Type = 56 // push, from the worker: ActorReady
	TActorLost    Type = 57 // call, answered when that incarnation has ended, or is known to live on: ActorLost → ActorDeath

	// Large classes of detached actors, which the cluster's state keeps.
	TCodePart Type = 190 // call, from the actor's creator: CodePart → CodeHave
	TCodeGet  Type = 191 // call, from the actor's worker: CodeAt → CodeData
	TCodeDrop Type = 192 // push, from the actor's creator: ActorRef: it will not be registered

	// Key-value.
	TKVPut  Type = 60 // call: KVPut → bool (added)
	TKVGet  Type = 61 // call: KVKey → []byte or nil
	TKVDel  Type = 62 // call: KVKey → int (deleted)
	TKVKeys Type = 63 // call: KVKey (prefix) → [][]byte

	// The key-value store of Go programs: any process → daemon.
	TKeyWrite   Type = 221 // call: record.KeyWrite → record.KeyWritten
	TKeyRead    Type = 222 // call: key → record.KeyPair or nil
	TKeyList    Type = 223 // call: prefix → record.KeyList
	TKeyWatch   Type = 224 // call, answered when there is something to say: KeyWatch → record.KeyChanges
	TKeyUnwatch Type = 225 // push: KeyWatch.Number: nobody waits for that answer any more
	TKeyGrant   Type = 226 // call: milliseconds → record.KeyLeased
	TKeyKeep    Type = 227 // call: the lease's id → bool: false when it has ended
	TKeyEnd     Type = 228 // call: the lease's id → nil

	// Placement groups: any process → daemon.
	TGroupCreate Type = 230 // call: GroupCreate → nil
	TGroupRemove Type = 231 // call: GroupRef → nil
	TGroupFind   Type = 232 // call: GroupFind → record.Group or nil
	TGroups      Type = 233 // call: nil → []record.Group
	TGroupWait   Type = 234 // call, answered when there is something to say: GroupWait → GroupState

	// Objects: any process → daemon.
	TObjCreate Type = 70 // call: ObjCreate → ObjPlace
	TObjSeal   Type = 71 // push: ObjectID: readable from now on
	TObjPin    Type = 72 // call: ObjPin → ObjPlace; the process holds it until TObjUnpin or death
	TObjUnpin  Type = 73 // push: ObjectID
	TObjFree   Type = 74 // push: []ObjectID: the owner has no reference left; the object goes when nobody has it pinned
	TObjStats  Type = 75 // call: nil → ObjStats
	TObjCheck  Type = 79 // call: []ObjectID → ObjMissing: those that no store has

	// Process ↔ process (to an object's owner, or to a running task).
	TRefWait   Type = 90 // call, answered when ready: RefWait → RefValue
	TRefBorrow Type = 91 // call: []ObjectID: the caller holds references to these
	TRefReturn Type = 92 // push: []ObjectID: the sender holds no references to these any more
	TCancel    Type = 93 // push: Cancel
	TRefFree   Type = 98 // call: RefFree: let go of the values, whoever holds them
	TReceived  Type = 94 // push: Received: the references inside that answer are registered; let go

	// Who holds what.
	TCensus        Type = 150 // call, to a daemon: CensusAsk → Census
	TProcessCensus Type = 151 // call, from a daemon to each process: CensusAsk → ProcessCensus
	TForget        Type = 152 // push, to a daemon and on to the job's workers: FunctionRef: let go of what that function captured

	TFootprint Type = 167 // call, to a daemon: FootprintAsk → map of names to bytes and counts

	// Daemon → any process.
	TObjLetGo Type = 160 // push: others need room: unpin what is kept only to be read quickly again

	// Leases that have nothing to do.
	TLeaseWanted Type = 161 // push, to a lease's holder: LeaseRef; others wait: return the lease when it has nothing to do
	TLeaseMove   Type = 162 // push, to the daemon: LeaseMove: the lease serves another class of the same shape from now on

	// Process ↔ process, as above.
	TRegistered  Type = 165 // call: nil → bool: whether all references that came to the callee are registered with their owners
	TAnswersRead Type = 188 // call: AnswersRead → bool: whether the callee reads nothing more from that task socket, and all references that came to it are registered with their owners

	// Any process → daemon.
	TClassRetire Type = 166 // push: LeaseWant, of which only the class is read: no lease of it is wanted any more

	// Process → daemon.
	TObjReuse  Type = 186 // push: ObjReuse: a new object takes the place of one that only the sender has pinned
	TObjSealed Type = 187 // push: ObjectID: as TObjSeal, and the sender has the object pinned from then on

	// Any process → daemon.
	TObjPins Type = 175 // call: []ObjectID → ObjPlaces: the objects that can be read now are pinned as by TObjPin, the others are not

	// Any process → daemon.
	TDrainNode Type = 236 // call: DrainNode → Drained

	TMetrics Type = 235 // call: MetricsReport → MetricsTaken: what the programs of this process count and measure

	// Any process → daemon.
	THeadState Type = 213 // call: nil → HeadState, without asking the head

	// Daemon → driver.
	TEnding Type = 212 // push: Ending: the daemon ends at once, and why

	// Any process → daemon.
	TObjWhere Type = 220 // call: []ObjectID → ObjLocations: which nodes have the objects

	// Daemon → worker.
	TObjFreed Type = 185 // push: ObjRefs that the receiver has pinned: their owners have freed them

	// Leases of other nodes.
	TLeaseOffer   Type = 210 // push, from the own daemon: LeaseOffer: another node has room
	TLeaseRefused Type = 211 // push, from another node's daemon to its guest, or to the own daemon: LeaseRefused
)

// String returns the number; logs use it.
func (t Type) String() string { return "message type " + strconv.Itoa(int(t)) }

// ExitDeclines is the reason of a worker that was to become an actor and does
// not, because others need what it owns.
const ExitDeclines = "it owns what others need, and so becomes no actor"

// ExitForced is the reason of a worker that ends because the task that it runs was cancelled with force.
const ExitForced = "its task was cancelled with ray.cancel(force=True)"

// ExitEnded is the reason of a worker whose actor the head has ended.
const ExitEnded = "its actor was ended: by ray.kill, or because its owner has ended or its placement group was removed"

// ExitIdle is the reason of a worker that the daemon ends because nobody needs it.
const ExitIdle = "it was idle"
