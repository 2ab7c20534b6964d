package workers

import (
	"os"
	"strconv"
	"strings"
)

// The kernel ends processes, too, when it has no memory left, and chooses those
// with a high score. A worker shall go before the daemon, which takes everything
// with it, and before its zygote.

// Spare asks the kernel not to kill this process when memory is short. Where that is not
// allowed, nothing changes.
func Spare() {
	before = readScore()
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-900"), 0)
}

// before is what this process had and its children get back; as the starter may have set it.
var before string

func readScore() string {
	b, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Unspare takes the protection away that a child has inherited.
func Unspare(pid int) {
	if before != "" {
		setScore(pid, before)
	}
}

// workerScore is what workers get, unless the environment says something else; as Ray's.
const workerScore = "1000"

// Offer lets the kernel end this worker before others when memory is short.
func Offer(pid int) {
	score := workerScore
	for _, name := range []string{"EAGLERAY_worker_oom_score_adjustment", "RAY_worker_oom_score_adjustment"} {
		if v := os.Getenv(name); v != "" {
			score = v
			break
		}
	}
	setScore(pid, score)
}

func setScore(pid int, score string) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(score), 0)
}
