// Share consumers of the Java client in one process, which may die at any moment. What share_member.py says holds here too. In mode
// "renew" a record in five is renewed once before it is decided: the client then returns it again from a poll.
//
// Each partition is committed by itself. A commitSync of Kafka 4.3.0 that goes to several leaders decides by the last response whether
// it had renewals (ShareConsumeRequestManager.ResultHandler.complete). If the last response is of a leader that got none, the client
// forgets that the others have answered: poll() waits for these renewals for ever and returns no record any more. Its background thread
// goes on fetching, so the consumer takes records from the group and no application gets them, until they reach the delivery limit.

import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class ShareMember {
    static final Duration POLL = Duration.ofMillis(500);
    static final Duration COMMIT = Duration.ofSeconds(10);
    // Of a hundred records.
    static final int REJECTED = 3;
    static final int RELEASED = 12;
    static final int RENEWED = 20;
    // Of a hundred batches.
    static final int HELD_TOO_LONG = 1;

    static volatile boolean stopping = false;

    final String name;
    final String topic;
    final String mode;
    final Random chance;
    final FileOutputStream journal;
    final long lockMillis;
    final KafkaShareConsumer<byte[], byte[]> consumer;
    final Set<String> renewed = new HashSet<>();

    ShareMember(String name, String topic, String mode, String seed, String journal, long lockMillis, Properties settings) throws Exception {
        this.name = name;
        this.topic = topic;
        this.mode = mode;
        this.chance = new Random((seed + " " + name).hashCode());
        this.journal = new FileOutputStream(journal, true);
        this.lockMillis = lockMillis;
        Properties own = new Properties();
        own.putAll(settings);
        own.put("share.acknowledgement.mode", mode.equals("implicit") ? "implicit" : "explicit");
        consumer = new KafkaShareConsumer<>(own, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.setAcknowledgementCommitCallback(this::acknowledged);
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[1]);
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < Integer.parseInt(arguments[5]); number++) {
            ShareMember member = new ShareMember(
                    arguments[4] + "-" + number, arguments[2], arguments[3], arguments[6], arguments[7],
                    (long) (Double.parseDouble(arguments[8]) * 1000), settings);
            threads.add(new Thread(member::live));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            for (Thread thread : threads) {
                try {
                    thread.join();
                } catch (InterruptedException ended) {
                    return;
                }
            }
        }));
        threads.forEach(Thread::start);
    }

    void live() {
        consumer.subscribe(List.of(topic));
        List<ConsumerRecord<byte[], byte[]>> last = new ArrayList<>();
        while (!stopping) {
            try {
                if (mode.equals("implicit")) {
                    tried(last);
                }
                last = new ArrayList<>();
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    last.add(record);
                }
                StringBuilder lines = new StringBuilder();
                for (ConsumerRecord<byte[], byte[]> record : last) {
                    line(lines, "got", record.partition(), record.offset(), record.deliveryCount().orElse((short) 0).toString());
                }
                write(lines);
                if (!mode.equals("implicit") && !last.isEmpty()) {
                    decide(last);
                }
            } catch (KafkaException failure) {
                say(failure);
                last = new ArrayList<>();
            } catch (Throwable failure) {
                // A member that cannot go on would keep its partitions, and the test would wait for it. The process ends instead.
                say(failure);
                Runtime.getRuntime().halt(1);
            }
        }
        if (mode.equals("implicit")) {
            tried(last);
        }
        consumer.close();
    }

    void decide(List<ConsumerRecord<byte[], byte[]>> records) throws InterruptedException {
        if (chance.nextInt(100) < HELD_TOO_LONG) {
            Thread.sleep(lockMillis * 13 / 10);
        }
        StringBuilder lines = new StringBuilder();
        List<AcknowledgeType> kinds = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            AcknowledgeType kind = decision(record);
            kinds.add(kind);
            line(lines, "try", record.partition(), record.offset(), kind.name());
        }
        write(lines);
        Map<Integer, List<Integer>> ofPartition = new TreeMap<>();
        for (int index = 0; index < records.size(); index++) {
            ofPartition.computeIfAbsent(records.get(index).partition(), partition -> new ArrayList<>()).add(index);
        }
        for (List<Integer> indexes : ofPartition.values()) {
            indexes.forEach(index -> consumer.acknowledge(records.get(index), kinds.get(index)));
            try {
                consumer.commitSync(COMMIT);
            } catch (KafkaException failure) {
                say(failure);
            }
        }
    }

    AcknowledgeType decision(ConsumerRecord<byte[], byte[]> record) {
        String where = record.partition() + " " + record.offset();
        if (mode.equals("renew") && !renewed.remove(where) && chance.nextInt(100) < RENEWED) {
            renewed.add(where);
            return AcknowledgeType.RENEW;
        }
        int number = chance.nextInt(100);
        return number < REJECTED ? AcknowledgeType.REJECT : number < REJECTED + RELEASED ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT;
    }

    void acknowledged(Map<TopicIdPartition, Set<Long>> offsets, Exception failure) {
        StringBuilder lines = new StringBuilder();
        String verb = failure == null ? "yes" : "no";
        String detail = failure == null ? "" : failure.toString().replace('\n', ' ');
        offsets.forEach((where, each) -> each.forEach(offset -> line(lines, verb, where.partition(), offset, detail)));
        write(lines);
    }

    void tried(List<ConsumerRecord<byte[], byte[]>> records) {
        StringBuilder lines = new StringBuilder();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            line(lines, "try", record.partition(), record.offset(), "ACCEPT");
        }
        write(lines);
    }

    void line(StringBuilder lines, String verb, int partition, long offset, String detail) {
        lines.append(System.nanoTime()).append(' ').append(name).append(' ').append(verb).append(' ');
        lines.append(partition).append(' ').append(offset).append(' ').append(detail).append('\n');
    }

    void write(StringBuilder lines) {
        if (lines.length() > 0) {
            try {
                journal.write(lines.toString().getBytes(StandardCharsets.UTF_8));
            } catch (java.io.IOException failure) {
                throw new java.io.UncheckedIOException(failure);
            }
        }
    }

    void say(Throwable failure) {
        System.err.println(java.time.LocalTime.now() + " " + name + " " + failure);
    }
}
