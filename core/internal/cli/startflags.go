package cli

import "github.com/eagleray/eagleray/core/internal/nodeprocess"

// Why flags that Ray has are accepted by start and have no effect.
const (
	noPorts      = "the head has one port (--port) and each node one (--node-manager-port); the processes of a machine talk through Unix sockets"
	noWorkerPort = "workers listen at no network port"
	noClients    = "programs on other machines cannot connect yet"
	noDashboard  = "the head serves HTTP by itself"
	noAutoscaler = "there is no autoscaler"
	noRedis      = "the cluster keeps its state itself, without Redis"
	noWorkflows  = "there are no workflows that would be stored"
	noPlasma     = "objects lie in anonymous shared memory"
	noNames      = "the sockets of a session have fixed names in its folder"
	noCgroups    = "workers are not put into cgroups of their own"
	noHooks      = "there are no hooks: with EAGLERAY_TRACE set, calls are traced"
	noRecompute  = "lost objects are computed again unless RAY_lineage_pinning_enabled is 0"
	noMonitor    = "the daemon itself passes on what workers print"
	noRedirect   = "processes write to files in the session's folder logs"
	noDebugger   = "there is no debugger"
	noUsage      = "usage statistics are never collected"
)

// startOptions are the flags of start: those that have an effect, those of Ray that have none here, which scripts and
// operators pass. docs/start.md lists them.
var startOptions = append([]option{
	{name: "--head", about: "begin a new cluster on this machine, or with --address: add a further head to one"},
	{name: "--address", value: "HOST:PORT,…", about: "join the cluster of the head at this address"},
	{name: "--num-cpus", value: "N", about: "CPUs to offer (default: those this process may use)"},
	{name: "--num-gpus", value: "N", about: "GPUs to offer (default: detected)"},
	{name: "--gpu-memory", value: "SIZE,…", about: "memory of every GPU, or of each, as 16GiB (default: detected)"},
	{name: "--resources", value: "JSON", about: `custom resources, as '{"name": 4}'`},
	{name: "--memory", value: "BYTES", about: "memory to offer (default: what is available)"},
	{name: "--object-store-memory", value: "BYTES", about: "size of the object store (default: 30% of the memory)"},
	{name: "--object-spilling-directory", value: "DIR", about: "where objects go that the store has no room for (default: the session)"},
	{name: "--system-config", value: "JSON", about: `Ray's settings of spilling, as '{"object_spilling_threshold": 0.9}', and of a head: node_timeout, the silence in seconds after which a node is dead, and exclusive_actors, whether actors are exclusive that do not say it`},
	{name: "--labels", value: "K=V,…", about: "labels of this node"},
	{name: "--labels-file", value: "FILE", about: "a YAML file of labels; those of --labels come first"},
	{name: "--infeasible", value: "WHAT", about: "what a task does that this node can never run: raise (default), or wait as in Ray", check: oneOf("raise", "wait")},
	{name: "--node-name", value: "NAME", about: "the name under which this node is shown (default: its address)", check: nodeprocess.CheckName},
	{name: "--node-ip-address", value: "IP", about: "the address at which other nodes reach this one (default: found out)", check: nodeAddress},
	{name: "--port", value: "PORT", about: "with --head: where other machines join (default: 6379; 0: a free one)", check: port},
	{name: "--node-manager-port", value: "PORT", about: "where other nodes reach this one (default: a free one)", check: port},
	{name: "--dashboard-host", value: "HOST", about: "with --head: where the head takes jobs over HTTP, and says whether it is well (default: 127.0.0.1)"},
	{name: "--dashboard-port", value: "PORT", about: "with --head: the port of that (default: 8265, or one of the 50 above)", check: port},
	{name: "--include-dashboard", value: "BOOL", about: "with --head: whether jobs are taken over HTTP, too (default: true)", check: yesOrNo},
	{name: "--dashboard-agent-listen-port", value: "PORT", about: "where the node says over HTTP whether it is well (default: 52365, unless it is taken)", check: port},
	{name: "--metrics-export-port", value: "PORT", about: "where the node shows its metrics to Prometheus, which needs the token (default: nowhere)", check: port},
	{name: "--token-file", value: "FILE", about: "the cluster's secret (default: $EAGLERAY_TOKEN_FILE, $RAY_AUTH_TOKEN, the one that --head writes)"},
	{name: "--insecure", about: "no encryption between nodes; the token is still needed"},
	{name: stateFlag, value: "DIR", about: "with --head: where the cluster's state is kept (default: $RAY_gcs_storage_path, else the session)", check: someFolder},
	{name: "--temp-dir", value: "DIR", about: "where sessions live (default: $EAGLERAY_TMPDIR, $RAY_TMPDIR, /tmp)"},
	{name: "--block", about: "stay in the foreground; Ctrl-C ends the cluster"},

	{name: "--object-manager-port", value: "PORT", check: port, unused: noPorts},
	{name: "--gcs-server-port", value: "PORT", check: port, unused: noPorts},
	{name: "--runtime-env-agent-port", value: "PORT", check: port, unused: noPorts},
	{name: "--min-worker-port", value: "PORT", check: port, unused: noWorkerPort},
	{name: "--max-worker-port", value: "PORT", check: port, unused: noWorkerPort},
	{name: "--worker-port-list", value: "PORTS", check: ports, unused: noWorkerPort},
	{name: "--ray-client-server-port", value: "PORT", check: port, unused: noClients},
	{name: "--dashboard-grpc-port", value: "PORT", check: port, unused: noDashboard},
	{name: "--dashboard-agent-grpc-port", value: "PORT", check: port, unused: noDashboard},
	{name: "--proxy-server-url", value: "URL", unused: noDashboard},
	{name: "--autoscaling-config", value: "FILE", unused: noAutoscaler},
	{name: "--no-monitor", unused: noAutoscaler},
	{name: "--redis-username", value: "TEXT", unused: noRedis},
	{name: "--redis-password", value: "TEXT", unused: noRedis},
	{name: "--redis-shard-ports", value: "PORTS", check: ports, unused: noRedis},
	{name: "--storage", value: "URI", unused: noWorkflows},
	{name: "--plasma-directory", value: "DIR", unused: noPlasma},
	{name: "--plasma-store-socket-name", value: "PATH", unused: noNames},
	{name: "--raylet-socket-name", value: "PATH", unused: noNames},
	{name: "--enable-resource-isolation", unused: noCgroups},
	{name: "--cgroup-path", value: "PATH", unused: noCgroups},
	{name: "--system-reserved-cpu", value: "N", check: positiveNumber, unused: noCgroups},
	{name: "--system-reserved-memory", value: "BYTES", check: positiveNumber, unused: noCgroups},
	{name: "--tracing-startup-hook", value: "HOOK", unused: noHooks},
	{name: "--enable-object-reconstruction", unused: noRecompute},
	{name: "--include-log-monitor", value: "BOOL", check: yesOrNo, unused: noMonitor},
	{name: "--no-redirect-output", unused: noRedirect},
	{name: "--ray-debugger-external", unused: noDebugger},
	{name: "--disable-usage-stats", unused: noUsage},
}, logOptions...)
