import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * One transaction after the other, with one record in each, by Apache Kafka's Java producer with default settings except that it does not
 * linger. Prints one line of JSON. The first part is for this JVM to get warm in and is not counted.
 *
 * <p>Arguments: bootstrap, topic, value bytes, transactions, transactions before that.
 */
public final class TransactionLoop {
    public static void main(String[] arguments) {
        String topic = arguments[1];
        byte[] value = new byte[Integer.parseInt(arguments[2])];
        int counted = Integer.parseInt(arguments[3]);
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("transactional.id", topic);
        properties.put("linger.ms", "0");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            run(producer, topic, value, Integer.parseInt(arguments[4]));
            long started = System.nanoTime();
            run(producer, topic, value, counted);
            double seconds = (System.nanoTime() - started) / 1e9;
            System.out.printf("{\"seconds\": %.6f, \"transactions\": %d}%n", seconds, counted);
        }
    }

    private static void run(KafkaProducer<byte[], byte[]> producer, String topic, byte[] value, int transactions) {
        for (int number = 0; number < transactions; number++) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, null, value));
            producer.commitTransaction();
        }
    }
}
