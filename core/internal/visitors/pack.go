package visitors

import (
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// rawBody is a body that is encoded already.
func rawBody(b []byte) msgpack.RawMessage { return b }

// Pack returns what is known of a job as bytes.
func Pack(i Info) ([]byte, error) {
	return linkmsg.Encode("what is known of a job", &linkmsg.JobInfo{Known: i.Known, Namespace: i.Namespace, Env: linkmsg.EnvOf(i.Env)})
}

// Unpack reads what Pack has made for an environment with that key.
func Unpack(b []byte, env string) (Info, error) { return read(b, env) }

func read(b []byte, env string) (Info, error) {
	i, err := linkmsg.DecodeJobInfo(b, env)
	if err != nil {
		return Info{}, err
	}
	return Info{Known: i.Known, Namespace: i.Namespace, Env: i.Env.Spec()}, nil
}
