// A Streams application under the streams group protocol, exactly once: counts of words (repartitioned, with state), a join of lines with a
// table of cities, and counts of lines in windows of time. Nothing is cached, so each result has one record for each change: the test knows
// every one of them, and finds lost and repeated ones.
//
// State stores are in memory: a thread that gets a task reads its changelogs first.

import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.*;

public class StreamsApplication {
    static final java.time.Duration WINDOW = java.time.Duration.ofSeconds(10);
    // Longer than the time that the lines span, so that none is too late for its window.
    static final java.time.Duration GRACE = java.time.Duration.ofDays(1);

    static Topology topology(Properties settings) {
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(settings)));
        KStream<String, String> lines = builder.stream("lines");
        KTable<String, String> cities = builder.table("cities");
        lines.flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((user, word) -> word, Grouped.as("words"))
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(String::valueOf)
            .to("word-counts");
        lines.join(cities, (line, city) -> city + ": " + line).to("joined");
        lines.groupByKey()
            .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, GRACE))
            .count(Materialized.as("windows"))
            .toStream()
            .map((window, count) -> KeyValue.pair(window.key() + "@" + window.window().start(), String.valueOf(count)))
            .to("windowed");
        return builder.build(settings);
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.putAll(Map.of(
            "bootstrap.servers", arguments[0], "application.id", arguments[1], "state.dir", arguments[2], "num.stream.threads", arguments[3],
            "group.protocol", "streams", "processing.guarantee", "exactly_once_v2", "commit.interval.ms", "100",
            "statestore.cache.max.bytes", "0",
            "dsl.store.suppliers.class", "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"));
        settings.putAll(Map.of(
            "default.key.serde", Serdes.StringSerde.class.getName(), "default.value.serde", Serdes.StringSerde.class.getName(),
            "consumer.auto.offset.reset", "earliest", "producer.transaction.timeout.ms", "10000", "producer.linger.ms", "5",
            "reconnect.backoff.ms", "10", "reconnect.backoff.max.ms", "100", "retry.backoff.ms", "20", "request.timeout.ms", "10000",
            "task.timeout.ms", "600000"));
        KafkaStreams streams = new KafkaStreams(topology(settings), settings);
        streams.setStateListener((now, before) -> say("state " + now));
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            say("failure " + failure);
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
        // Ends cleanly when its standard input ends.
        while (System.in.read() >= 0) { }
        streams.close(java.time.Duration.ofSeconds(60));
        say("closed");
        Runtime.getRuntime().halt(0);
    }

    static void say(String what) {
        System.out.println(what);
        System.out.flush();
    }
}
