// Loads the classes that Kafka's brokers, tools and clients load in tests, so that the JVM archives them as it ends.
//
// peers/class_archive.py runs it. Arguments: the broker's address, its properties file, and the id of its cluster.

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.utils.Exit;

public class WarmUp {
    static class Exited extends Error { }

    static final String STRING = "org.apache.kafka.common.serialization.String";

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        Exit.setExitProcedure((status, message) -> { throw new Exited(); });
        try {
            kafka.tools.StorageTool.main(new String[] {"format", "-t", arguments[2], "-c", arguments[1]});
        } catch (Exited leaving) {
            // Tools end with an exit.
        }
        Thread broker = new Thread(() -> kafka.Kafka.main(new String[] {arguments[1]}), "broker");
        broker.setDaemon(true);
        broker.start();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic("warm-up", 1, (short) 1))).all().get();
            admin.describeTopics(List.of("warm-up")).allTopicNames().get();
            copy(bootstrap);
            admin.listGroups().all().get();
        }
        // The JVM writes the archive after the broker's shutdown hook.
        System.exit(0);
    }

    // One transaction, and groups of both protocols that read it.
    static void copy(String bootstrap) {
        Map<String, Object> writing = Map.of("bootstrap.servers", bootstrap, "transactional.id", "warm-up",
            "key.serializer", STRING + "Serializer", "value.serializer", STRING + "Serializer");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(writing)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("warm-up", "key", "value"));
            producer.commitTransaction();
        }
        Map<String, Object> reading = Map.of("bootstrap.servers", bootstrap, "auto.offset.reset", "earliest",
            "isolation.level", "read_committed", "key.deserializer", STRING + "Deserializer", "value.deserializer", STRING + "Deserializer");
        for (String protocol : List.of("classic", "consumer")) {
            Map<String, Object> settings = new HashMap<>(reading);
            settings.put("group.protocol", protocol);
            settings.put("group.id", protocol);
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
                consumer.subscribe(List.of("warm-up"));
                ConsumerRecords<String, String> records = ConsumerRecords.empty();
                while (records.isEmpty()) records = consumer.poll(Duration.ofSeconds(1));
                consumer.commitSync();
            }
        }
    }
}
