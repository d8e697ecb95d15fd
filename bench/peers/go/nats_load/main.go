// Load for NATS JetStream with its own client: the counterpart of librdkafka_load.c.
//
//	nats_load create  URL STREAM STORAGE
//	nats_load delete  URL STREAM
//	nats_load count   URL STREAM
//	nats_load produce URL STREAM VALUE_BYTES RECORDS
//	nats_load consume URL STREAM VALUE_BYTES RECORDS
//	nats_load latency URL STREAM VALUE_BYTES RECORDS
//
// STORAGE is memory or file. Each command prints one line of JSON. The clock starts when the
// connection and the first message are through, as in librdkafka_load.c.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	limit           = 60 * time.Second
	differentValues = 4096
	// Messages that wait for their acknowledgement, and messages that a consumer asks for at once.
	// More did not make the client faster.
	pendingMax = 16384
	pullAtOnce = 16384
	// The first round trips of a latency measurement, which do not count.
	ignoredFirst = 50
)

func die(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func check(err error, deed string) {
	if err != nil {
		die("%s: %v", deed, err)
	}
}

func number(index int) int {
	value, err := strconv.Atoi(os.Args[index])
	check(err, "argument")
	return value
}

func makeValues(size int) [][]byte {
	random := rand.New(rand.NewSource(1))
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789\":,{} "
	values := make([][]byte, differentValues)
	for i := range values {
		values[i] = make([]byte, size)
		for j := range values[i] {
			values[i][j] = letters[random.Intn(len(letters))]
		}
	}
	return values
}

func produce(js jetstream.JetStream, subject string, values [][]byte, records int) {
	_, err := js.Publish(context.Background(), subject, values[0])
	check(err, "publish")
	started := time.Now()
	for i := range records {
		_, err := js.PublishAsync(subject, values[i%differentValues], jetstream.WithStallWait(limit))
		check(err, "publish")
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(limit):
		die("%d messages were not acknowledged in time", js.PublishAsyncPending())
	}
	fmt.Printf("{\"seconds\": %.6f, \"records\": %d}\n", time.Since(started).Seconds(), records)
}

// An ordered consumer, the client's own for reading a stream from its beginning: no message is acknowledged.
func messages(js jetstream.JetStream, stream string, atOnce int) jetstream.MessagesContext {
	consumer, err := js.OrderedConsumer(context.Background(), stream, jetstream.OrderedConsumerConfig{})
	check(err, "consumer")
	messages, err := consumer.Messages(jetstream.PullMaxMessages(atOnce))
	check(err, "messages")
	return messages
}

func receive(messages jetstream.MessagesContext, size int) {
	message, err := messages.Next()
	check(err, "next")
	if len(message.Data()) != size {
		die("a value of %d bytes came back", len(message.Data()))
	}
}

func consume(js jetstream.JetStream, stream string, size, records int) {
	messages := messages(js, stream, pullAtOnce)
	receive(messages, size)
	started := time.Now()
	for range records - 1 {
		receive(messages, size)
	}
	fmt.Printf("{\"seconds\": %.6f, \"records\": %d}\n", time.Since(started).Seconds(), records-1)
}

func latency(js jetstream.JetStream, stream string, values [][]byte, records int) {
	messages := messages(js, stream, pullAtOnce)
	micros := make([]float64, 0, records)
	for i := range ignoredFirst + records {
		started := time.Now()
		_, err := js.PublishAsync(stream, values[i%differentValues])
		check(err, "publish")
		receive(messages, len(values[0]))
		if i >= ignoredFirst {
			micros = append(micros, float64(time.Since(started).Nanoseconds())/1e3)
		}
	}
	slices.Sort(micros)
	fmt.Printf("{\"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f}\n",
		micros[records/2], micros[records*90/100], micros[records*99/100], micros[records*999/1000])
}

func main() {
	if len(os.Args) < 4 {
		die("usage: nats_load create|delete|count|produce|consume|latency URL STREAM ...")
	}
	command, stream := os.Args[1], os.Args[3]
	connection, err := nats.Connect(os.Args[2])
	check(err, "connect")
	js, err := jetstream.New(connection, jetstream.WithPublishAsyncMaxPending(pendingMax),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { die("publish: %v", err) }))
	check(err, "jetstream")
	soon, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	time.AfterFunc(2*limit, func() { die("%s did not end in time", command) })
	switch command {
	case "create":
		storage := jetstream.FileStorage
		if os.Args[4] == "memory" {
			storage = jetstream.MemoryStorage
		}
		_, err = js.CreateStream(soon, jetstream.StreamConfig{Name: stream, Subjects: []string{stream}, Storage: storage})
		check(err, "create")
		fmt.Println("{}")
	case "delete":
		check(js.DeleteStream(soon, stream), "delete")
		fmt.Println("{}")
	case "count":
		found, err := js.Stream(soon, stream)
		if err == jetstream.ErrStreamNotFound {
			fmt.Println("{\"records\": 0}")
			return
		}
		check(err, "stream")
		fmt.Printf("{\"records\": %d}\n", found.CachedInfo().State.Msgs)
	case "produce":
		produce(js, stream, makeValues(number(4)), number(5))
	case "consume":
		consume(js, stream, number(4), number(5))
	case "latency":
		latency(js, stream, makeValues(number(4)), number(5))
	default:
		die("%s is no command", command)
	}
}
