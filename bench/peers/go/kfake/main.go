// One kfake broker on a given port: in memory, or with a directory.
//
// kfake's own main.go listens on three fixed ports and profiles itself, so it cannot be measured.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	directory := flag.String("data", "", "directory for the data; without it the data is in memory only")
	flag.Parse()
	options := []kfake.Opt{
		kfake.Ports(*port),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelWarn)),
	}
	if *directory != "" {
		options = append(options, kfake.DataDir(*directory))
	}
	if _, err := kfake.NewCluster(options...); err != nil {
		log.Fatal(err)
	}
	select {} // The benchmark ends this process with SIGKILL, as it ends every server.
}
