// Consume, transform, produce with the Java client, whose transactions are of version 2 (KIP-890). What copier.py says holds here too.

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

public class Copier {
    static final String INPUT = "input";
    static final String OUTPUT = "output";
    static final int OUTPUT_PARTITIONS = 2;
    static final int FENCED = 3;

    static KafkaConsumer<byte[], String> consumer;
    static KafkaProducer<byte[], String> producer;

    public static void main(String[] arguments) throws Exception {
        try {
            run(arguments[0], arguments[1], arguments[2], arguments[3], new Random(arguments[4].hashCode()));
        } catch (ProducerFencedException | InvalidProducerEpochException | FencedInstanceIdException fenced) {
            System.err.println(fenced);
            System.exit(FENCED);
        } catch (Throwable wrong) {
            wrong.printStackTrace();
            System.exit(1);
        }
    }

    static void run(String bootstrap, String transactionalId, String instanceId, String protocol, Random chance) {
        Map<String, Object> reading = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", "copiers", "group.protocol", protocol, "isolation.level", "read_committed",
            "enable.auto.commit", "false", "auto.offset.reset", "earliest", "max.poll.records", "100",
            "reconnect.backoff.ms", "10", "reconnect.backoff.max.ms", "100"));
        if (!instanceId.isEmpty()) reading.put("group.instance.id", instanceId);
        if (protocol.equals("classic")) reading.putAll(Map.of("session.timeout.ms", "2000", "heartbeat.interval.ms", "200"));
        consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new StringDeserializer());
        producer = new KafkaProducer<>(Map.of(
            "bootstrap.servers", bootstrap, "transactional.id", transactionalId, "transaction.timeout.ms", "10000",
            "reconnect.backoff.ms", "10", "reconnect.backoff.max.ms", "100", "retry.backoff.ms", "20"),
            new ByteArraySerializer(), new StringSerializer());
        persist(() -> producer.initTransactions());
        System.out.println("ready");
        consumer.subscribe(List.of(INPUT));
        while (true) {
            ConsumerRecords<byte[], String> records = consumer.poll(Duration.ofMillis(200));
            if (!records.isEmpty()) copy(records, chance.nextDouble() < 0.15);
        }
    }

    static void copy(ConsumerRecords<byte[], String> records, boolean inVain) {
        try {
            producer.beginTransaction();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<byte[], String> record : records) {
                String value = inVain ? "never " + record.value() : record.value();
                producer.send(new ProducerRecord<>(OUTPUT, record.partition() % OUTPUT_PARTITIONS, null, value));
                offsets.put(new TopicPartition(INPUT, record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            if (inVain) abort();
            else persist(() -> producer.commitTransaction());
        } catch (ProducerFencedException | InvalidProducerEpochException | FencedInstanceIdException fenced) {
            throw fenced;
        } catch (KafkaException failure) {
            System.err.println("aborting: " + failure);
            abort();
        }
    }

    static void abort() {
        persist(() -> producer.abortTransaction());
        Collection<TopicPartition> held = new ArrayList<>(consumer.assignment());
        Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>();
        persist(() -> committed.putAll(consumer.committed(new java.util.HashSet<>(held))));
        for (TopicPartition each : held) {
            OffsetAndMetadata offset = committed.get(each);
            consumer.seek(each, offset == null ? 0 : offset.offset());
        }
    }

    static void persist(Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException again) {
                System.err.println("again: " + again);
            }
        }
    }
}
