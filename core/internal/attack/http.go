package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// overHTTP asks as pages of other sites do, under names of strangers, and without the token or with a wrong one. The token itself is right where
// a request is to fail for another reason.
func (a *attacker) overHTTP() error {
	right := "Bearer " + a.token.Text()
	type ask struct {
		name, method, path, host string
		headers                  map[string]string
	}
	asks := []ask{
		{"no token", "GET", "/", "", nil},
		{"no token for jobs", "POST", "/api/jobs/", "", nil},
		{"another token", "GET", "/", "", map[string]string{"Authorization": "Bearer " + pki.NewToken("the attack").Text()}},
		{"a cookie", "GET", "/", "", map[string]string{"Cookie": "token=" + a.token.Text()}},
		{"DNS rebinding", "GET", "/", "evil.example:8265", map[string]string{"Authorization": right}},
		{"a cross-origin request", "POST", "/api/jobs/", "", map[string]string{"Authorization": right, "Origin": "https://evil.example"}},
		{"a sandboxed page", "POST", "/api/jobs/", "", map[string]string{"Authorization": right, "Origin": "null"}},
		{"a cross-site navigation", "GET", "/", "", map[string]string{"Authorization": right, "Sec-Fetch-Site": "cross-site"}},
		{"a question before a cross-origin request", "OPTIONS", "/api/jobs/", "", map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}},
		{"a change of what is healthy", "POST", "/api/healthz", "", nil},
		{"a path that leads elsewhere", "GET", "/api/healthz/../../../../etc/passwd", "", nil},
	}
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	some := false
	for first := true; first || time.Now().Before(a.end); first = false {
		for _, p := range a.ports {
			if p.kind != "http" {
				continue
			}
			some = true
			for _, one := range asks {
				p.pace.wait()
				r, err := http.NewRequest(one.method, "http://"+p.address+one.path, strings.NewReader(string(a.bomb(0))))
				if err != nil {
					return err
				}
				r.Host = one.host
				for name, value := range one.headers {
					r.Header.Set(name, value)
				}
				answer, err := client.Do(r)
				if err != nil {
					return fmt.Errorf("http: %w", err)
				}
				text, _ := io.ReadAll(io.LimitReader(answer.Body, mostReply))
				answer.Body.Close()
				a.count(one.name, 1)
				if answer.StatusCode < 400 || answer.Header.Get("Access-Control-Allow-Origin") != "" || len(text) > 100 {
					a.breach("http: %s: status %d, %d bytes", one.name, answer.StatusCode, len(text))
				}
			}
		}
	}
	if !some {
		return errors.New("-port: no HTTP port is given")
	}
	return nil
}
