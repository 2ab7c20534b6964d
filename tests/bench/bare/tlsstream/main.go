// Command tlsstream sends data from one process to another over one TLS 1.3 connection on the loopback, without
// anything else around it, and prints how many MiB a second came through, one line for each time.
//
//	go run ./tests/bench/bare/tlsstream -mib 100 -times 5
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"os/exec"
	"time"
)

func main() {
	mib := flag.Int64("mib", 100, "how much is sent each time")
	times := flag.Int("times", 5, "how often")
	to := flag.String("to", "", "used by the command itself: the receiver's address")
	flag.Parse()
	var err error
	if *to != "" {
		err = send(*to, *mib<<20, *times)
	} else {
		err = receive(*mib<<20, *times)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// receive starts the sender and reads what it sends. Each time begins when the receiver says so.
func receive(size int64, times int) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13})
	if err != nil {
		return err
	}
	defer l.Close()
	sender := exec.Command(os.Args[0], "-to", l.Addr().String(), "-mib", fmt.Sprint(size>>20), "-times", fmt.Sprint(times))
	sender.Stderr = os.Stderr
	if err := sender.Start(); err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	target := make([]byte, size)
	for range times {
		begun := time.Now()
		if _, err := c.Write([]byte{1}); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, target); err != nil {
			return err
		}
		fmt.Printf("%.1f\n", float64(size>>20)/time.Since(begun).Seconds())
	}
	return sender.Wait()
}

func send(to string, size int64, times int) error {
	c, err := net.DialTimeout("tcp", to, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}) // who it is does not matter here
	source, word := make([]byte, size), make([]byte, 1)
	for range times {
		if _, err := io.ReadFull(s, word); err != nil {
			return err
		}
		if _, err := s.Write(source); err != nil {
			return err
		}
	}
	return nil
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
