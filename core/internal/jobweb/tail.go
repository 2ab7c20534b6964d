package jobweb

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Bounds of a log that is followed.
const (
	maxLine   = 8 << 20          // of JSON, from the server of jobs
	writeTime = 60 * time.Second // for a client that does not read
)

// event is a line from the server of jobs.
type event struct {
	Text string `json:"text"`
	End  bool   `json:"end"`
	Fail string `json:"error"`
}

// tail follows a log. The status of the answer is known before anything is said to the client.
func (s *Server) tail(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	ask := r.Clone(ctx)
	ask.URL.Scheme, ask.URL.Host, ask.RequestURI, ask.Body, ask.ContentLength = "http", "jobs", "", nil, 0
	ask.Header = http.Header{"Connection": {"close"}}
	answer, err := s.proxy.Transport.RoundTrip(ask)
	if err != nil {
		s.proxy.ErrorHandler(w, r, err)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || !isWebSocket(r) {
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		copyLines(w, answer.Body)
		return
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // the client has its answer
	}
	defer c.CloseNow()
	gone := c.CloseRead(ctx) // also answers pings
	defer context.AfterFunc(gone, cancel)()
	switch err := forward(gone, c, answer.Body); {
	case err == nil:
		_ = c.Close(websocket.StatusNormalClosure, "")
	case gone.Err() == nil:
		s.o.Log.Warn("a log is not followed any more", "path", r.URL.Path, "error", err)
		_ = c.Close(websocket.StatusInternalError, "the server of jobs has ended")
	}
}

func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// copyLines passes lines on as they come.
func copyLines(w http.ResponseWriter, body io.Reader) {
	within := http.NewResponseController(w)
	_ = within.SetReadDeadline(time.Time{}) // the request has been read
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			_ = within.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := w.Write(buffer[:n]); err != nil {
				return
			}
			if within.Flush() != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// forward makes messages of the lines. It returns nil when the log is at its end.
func forward(ctx context.Context, c *websocket.Conn, body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		if e.Fail != "" {
			return errors.New(e.Fail)
		}
		if e.End {
			return nil
		}
		if e.Text == "" {
			continue // nothing new: it tells the server of jobs whether the client is there
		}
		within, cancel := context.WithTimeout(ctx, writeTime)
		err := c.Write(within, websocket.MessageText, []byte(e.Text))
		cancel()
		if err != nil {
			return err
		}
	}
	if lines.Err() != nil {
		return lines.Err()
	}
	return io.ErrUnexpectedEOF
}
