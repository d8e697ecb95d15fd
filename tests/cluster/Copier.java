// Consume, transform, produce with the Java client, whose transactions are of version 2 (KIP-890). What copier.py says holds here too,
// with these differences:
//
// - The client itself reads the committed offsets of partitions it is given: unlike librdkafka it waits for pending ones to be stable.
//   auto.offset.reset=none makes a partition without a committed offset an exception, and rewind() then asks again, explicitly. committed()
//   throws for every error, so null truly says that nothing is committed.
// - The group's metadata may change with the background thread of the new consumer. It is read before and after the poll that brings the
//   records; records that came while it changed are not copied, but read again from the committed offsets.

import java.time.Duration;
import java.util.*;
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
    static final int BROKEN = 4;
    // Of every call that blocks, where the client's default is a minute.
    static final int BLOCK_SECONDS_MAX = 30;

    static KafkaConsumer<byte[], String> consumer;
    static KafkaProducer<byte[], String> producer;
    // The offset of the next record, of partitions of which one was read since they were assigned or rewound.
    static final Map<Integer, Long> next = new HashMap<>();
    static int changes = 0;

    static class Astray extends RuntimeException {
        Astray(String what) { super(what); }
    }

    public static void main(String[] arguments) throws Exception {
        try {
            run(arguments[0], arguments[1], arguments[2], arguments[3], new Random(arguments[4].hashCode()), security(arguments[5]));
        } catch (ProducerFencedException | InvalidProducerEpochException | FencedInstanceIdException fenced) {
            journal("ends: " + fenced);
            Runtime.getRuntime().halt(FENCED);
        } catch (Astray | org.apache.kafka.clients.consumer.InvalidOffsetException astray) {
            journal("BROKEN: " + astray);
            Runtime.getRuntime().halt(BROKEN);
        } catch (Throwable failure) {
            journal("ends: " + failure);
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    static Map<String, String> security(String file) throws java.io.IOException {
        Map<String, String> found = new HashMap<>();
        for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of(file))) {
            String[] parts = line.split("=", 2);
            found.put(parts[0], parts[1]);
        }
        return found;
    }

    static void run(String bootstrap, String transactionalId, String instanceId, String protocol, Random chance, Map<String, String> security) {
        String blockMs = String.valueOf(1000 * BLOCK_SECONDS_MAX);
        Map<String, Object> reading = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", "copiers", "group.protocol", protocol, "isolation.level", "read_committed",
            "enable.auto.commit", "false", "auto.offset.reset", "none", "max.poll.records", "100", "max.poll.interval.ms", "90000"));
        reading.putAll(Map.of(
            "reconnect.backoff.ms", "10", "reconnect.backoff.max.ms", "100", "request.timeout.ms", "10000", "default.api.timeout.ms", blockMs));
        if (!instanceId.isEmpty()) reading.put("group.instance.id", instanceId);
        if (protocol.equals("classic")) reading.putAll(Map.of("session.timeout.ms", "2000", "heartbeat.interval.ms", "200"));
        reading.putAll(security);
        consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new StringDeserializer());
        Map<String, Object> writing = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "transactional.id", transactionalId, "transaction.timeout.ms", "10000",
            "reconnect.backoff.ms", "10", "reconnect.backoff.max.ms", "100", "retry.backoff.ms", "20",
            "request.timeout.ms", "10000", "max.block.ms", blockMs));
        writing.putAll(security);
        producer = new KafkaProducer<>(writing, new ByteArraySerializer(), new StringSerializer());
        persist("initTransactions", () -> producer.initTransactions());
        say("ready");
        consumer.subscribe(List.of(INPUT), new ConsumerRebalanceListener() {
            @Override public void onPartitionsAssigned(Collection<TopicPartition> given) { changed("assigned", given); }
            @Override public void onPartitionsRevoked(Collection<TopicPartition> taken) { changed("revoked", taken); }
            @Override public void onPartitionsLost(Collection<TopicPartition> taken) { changed("lost", taken); }
        });
        int transactions = 0;
        while (true) {
            int before = changes;
            ConsumerGroupMetadata membership = consumer.groupMetadata();
            ConsumerRecords<byte[], String> records;
            try {
                records = consumer.poll(Duration.ofMillis(200));
            } catch (NoOffsetForPartitionException unread) {
                journal("poll: " + unread);
                rewind();
                continue;
            }
            if (records.isEmpty()) continue;
            if (changes != before || !same(membership, consumer.groupMetadata()) || membership.generationId() <= 0) {
                journal("records of a membership that changed");
                rewind();
            } else {
                transactions++;
                copy(records, membership, transactions == 2 || chance.nextDouble() < 0.15);
            }
        }
    }

    static void changed(String how, Collection<TopicPartition> partitions) {
        journal(how + " " + partitions);
        changes++;
        for (TopicPartition each : partitions) next.remove(each.partition());
    }

    static boolean same(ConsumerGroupMetadata one, ConsumerGroupMetadata other) {
        return one.generationId() == other.generationId() && one.memberId().equals(other.memberId());
    }

    static void copy(ConsumerRecords<byte[], String> records, ConsumerGroupMetadata membership, boolean inVain) {
        try {
            producer.beginTransaction();
            Map<Integer, Long> firsts = new TreeMap<>();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<byte[], String> record : records) {
                Long expected = next.put(record.partition(), record.offset() + 1);
                if (expected != null && expected != record.offset())
                    throw new Astray("partition " + record.partition() + ": " + record.offset() + " where " + expected + " is next");
                firsts.putIfAbsent(record.partition(), record.offset());
                String value = inVain ? "never " + record.value() : record.value();
                producer.send(new ProducerRecord<>(OUTPUT, record.partition() % OUTPUT_PARTITIONS, null, value));
                offsets.put(new TopicPartition(INPUT, record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
            journal((inVain ? "begin in vain " : "begin ") + firsts + ", send offsets " + offsets + " as " + membership);
            timed("sendOffsetsToTransaction", () -> producer.sendOffsetsToTransaction(offsets, membership));
            if (inVain) {
                abort();
            } else {
                persist("commitTransaction", () -> producer.commitTransaction());
                journal("committed the transaction");
            }
        } catch (ProducerFencedException | InvalidProducerEpochException | FencedInstanceIdException fenced) {
            throw fenced;
        } catch (KafkaException failure) {
            journal("aborting: " + failure);
            abort();
        }
    }

    static void abort() {
        persist("abortTransaction", () -> producer.abortTransaction());
        journal("aborted the transaction");
        rewind();
    }

    static void rewind() {
        Collection<TopicPartition> held = new ArrayList<>(consumer.assignment());
        Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>();
        persist("committed", () -> committed.putAll(consumer.committed(new HashSet<>(held))));
        for (TopicPartition each : held) {
            OffsetAndMetadata offset = committed.get(each);
            long position = offset == null ? 0 : offset.offset();
            journal("seek " + each + " " + position + (offset == null ? " (nothing committed)" : ""));
            consumer.seek(each, position);
            next.put(each.partition(), position);
        }
    }

    static void persist(String name, Runnable call) {
        while (true) {
            try {
                timed(name, call);
                return;
            } catch (TimeoutException again) {
                journal(name + " again: " + again);
            }
        }
    }

    static void timed(String name, Runnable call) {
        say("begin " + name + " " + BLOCK_SECONDS_MAX);
        try {
            call.run();
        } finally {
            say("end");
        }
    }

    static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    static void journal(String what) {
        System.err.printf("%.3f %s%n", System.currentTimeMillis() / 1000.0, what);
    }
}
