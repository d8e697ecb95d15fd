import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java share consumers with default settings, each in a thread of its own, empty a topic. In mode explicit each record is accepted by a
 * call of its own; the next poll sends the acknowledgements in both modes. Prints one line of JSON. The clock starts with the first
 * records, so that connecting and joining the group are not counted.
 *
 * <p>Arguments: bootstrap, topic, group, consumers, mode, records.
 */
public final class ShareConsumers {
    private static final long PATIENCE_NANOS = 100_000_000_000L;

    private static final AtomicLong delivered = new AtomicLong();
    private static final AtomicLong acknowledged = new AtomicLong();
    private static final AtomicLong started = new AtomicLong();
    private static final AtomicLong lastDelivered = new AtomicLong();
    private static final AtomicLong lastAcknowledged = new AtomicLong();
    private static volatile String failure = null;

    public static void main(String[] arguments) throws InterruptedException {
        long wanted = Long.parseLong(arguments[5]);
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < Integer.parseInt(arguments[3]); number++) {
            Thread thread = new Thread(() -> consume(arguments, wanted));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure != null || acknowledged.get() < wanted) {
            System.err.println(failure != null ? failure : acknowledged.get() + " of " + wanted + " records were acknowledged");
            System.exit(1);
        }
        System.out.printf(
                "{\"records\": %d, \"seconds\": %.6f, \"acknowledged\": %d, \"acknowledged_seconds\": %.6f}%n",
                delivered.get(), (lastDelivered.get() - started.get()) / 1e9,
                acknowledged.get(), (lastAcknowledged.get() - started.get()) / 1e9);
    }

    private static void consume(String[] arguments, long wanted) {
        boolean explicit = arguments[4].equals("explicit");
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("group.id", arguments[2]);
        properties.put("share.acknowledgement.mode", arguments[4]);
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        try (KafkaShareConsumer<byte[], byte[]> consumer =
                new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.setAcknowledgementCommitCallback((offsets, error) -> {
                if (error != null) {
                    failure = error.toString();
                }
                acknowledged.addAndGet(offsets.values().stream().mapToLong(Set::size).sum());
                lastAcknowledged.accumulateAndGet(System.nanoTime(), Math::max);
            });
            consumer.subscribe(List.of(arguments[1]));
            while (acknowledged.get() < wanted && failure == null && System.nanoTime() < deadline) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                if (records.isEmpty()) {
                    continue;
                }
                if (explicit) {
                    for (ConsumerRecord<byte[], byte[]> record : records) {
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                    }
                }
                // The clock starts after the first records, which do not count.
                if (!started.compareAndSet(0, System.nanoTime())) {
                    delivered.addAndGet(records.count());
                    lastDelivered.accumulateAndGet(System.nanoTime(), Math::max);
                }
            }
        }
    }
}
