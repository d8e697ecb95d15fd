import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What kafka-consumer-perf-test does, with assigned partitions in place of a consumer group: a Java consumer with default settings reads
 * a topic from its beginning. Prints one line of JSON. The clock starts with the first records, so that connecting is not counted.
 *
 * <p>Arguments: bootstrap, topic, partitions, records.
 */
public final class AssignedConsumer {
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    public static void main(String[] arguments) {
        String topic = arguments[1];
        long wanted = Long.parseLong(arguments[3]);
        List<TopicPartition> partitions = new ArrayList<>();
        for (int index = 0; index < Integer.parseInt(arguments[2]); index++) {
            partitions.add(new TopicPartition(topic, index));
        }
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + PATIENCE_NANOS;
            long first = poll(consumer, deadline);
            long started = System.nanoTime();
            long records = 0;
            while (first + records < wanted) {
                records += poll(consumer, deadline);
            }
            double seconds = (System.nanoTime() - started) / 1e9;
            System.out.printf("{\"seconds\": %.6f, \"records\": %d}%n", seconds, records);
        }
    }

    private static long poll(KafkaConsumer<byte[], byte[]> consumer, long deadline) {
        while (true) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofSeconds(1));
            if (!records.isEmpty()) {
                return records.count();
            }
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("no more records came");
            }
        }
    }
}
