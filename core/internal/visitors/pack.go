package visitors

import "github.com/eagleray/eagleray/core/internal/linkmsg"

// Info is what a node knows of a job.
type Info = linkmsg.JobInfo

// Pack returns what is known of a job as bytes.
func Pack(i Info) ([]byte, error) { return linkmsg.Encode("what is known of a job", &i) }

// Unpack reads what Pack has made for an environment with that key.
func Unpack(b []byte, env string) (Info, error) {
	i, err := linkmsg.DecodeJobInfo(b, env)
	if err != nil {
		return Info{}, err
	}
	return *i, nil
}
