// The Java client's transactions and its admin client's deeds on transactions, against one broker, as a list of claims.
//
// Each claim prints a line of JSON when it was tried: {"claim": name, "failure": null or what went wrong}.

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

public class JavaTransactions {
    interface Claim {
        void hold() throws Exception;
    }

    static final int SIDE_BY_SIDE = 6;
    static final Duration A_MOMENT = Duration.ofMillis(30);
    static String bootstrap;
    static Admin admin;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        Map<String, Claim> claims = new LinkedHashMap<>();
        claims.put("committed records are read, aborted ones are not", JavaTransactions::committedOnly);
        claims.put("readers of committed records wait for open transactions", JavaTransactions::openOnes);
        claims.put("every transaction has an epoch of its own", JavaTransactions::epochs);
        claims.put("consume, transform, produce, classic", () -> consumeTransformProduce("classic"));
        claims.put("consume, transform, produce, consumer", () -> consumeTransformProduce("consumer"));
        claims.put("an aborted transaction takes its offsets with it", JavaTransactions::abortedOffsets);
        claims.put("a member of an old generation cannot commit, classic", () -> oldGeneration("classic"));
        claims.put("a member of an old generation cannot commit, consumer", () -> oldGeneration("consumer"));
        claims.put("a zombie is fenced", JavaTransactions::zombie);
        claims.put("a zombie is fenced in the middle of a transaction", JavaTransactions::zombieInTheMiddle);
        claims.put("a transaction that takes too long is aborted", JavaTransactions::timeout);
        claims.put("a transaction over many partitions", JavaTransactions::manyPartitions);
        claims.put("many transactions in a row", JavaTransactions::manyInARow);
        claims.put("transactions are listed and described", JavaTransactions::described);
        claims.put("producers are fenced by an operator", JavaTransactions::fenced);
        claims.put("a transaction is terminated by an operator", JavaTransactions::terminated);
        claims.put("a transaction is aborted in one partition by an operator", JavaTransactions::abortedByHand);
        claims.put("ids that nobody had", JavaTransactions::absent);
        claims.put("timeouts that are refused", JavaTransactions::badTimeouts);

        ExecutorService threads = Executors.newFixedThreadPool(SIDE_BY_SIDE);
        List<Future<?>> tried = new ArrayList<>();
        claims.forEach((name, claim) -> tried.add(threads.submit(() -> attempt(name, claim))));
        for (Future<?> each : tried) each.get();
        threads.shutdown();
        admin.close(Duration.ofSeconds(5));
    }

    static void attempt(String name, Claim claim) {
        ObjectNode line = new ObjectMapper().createObjectNode();
        line.put("claim", name);
        try {
            claim.hold();
            line.putNull("failure");
        } catch (Throwable wrong) {
            StringWriter trace = new StringWriter();
            wrong.printStackTrace(new PrintWriter(trace));
            line.put("failure", trace.toString());
        }
        synchronized (JavaTransactions.class) {
            System.out.println(line);
        }
    }

    // -- tools of this file

    static void same(Object expected, Object actual) {
        if (!Objects.deepEquals(expected, actual)) throw new AssertionError("expected " + expected + " but found " + actual);
    }

    static void that(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static <T extends Throwable> T thrown(Class<T> kind, Claim what) {
        try {
            what.hold();
        } catch (Throwable wrong) {
            Throwable cause = wrong instanceof ExecutionException ? wrong.getCause() : wrong;
            if (kind.isInstance(cause)) return kind.cast(cause);
            throw new AssertionError("expected " + kind.getSimpleName(), wrong);
        }
        throw new AssertionError("expected " + kind.getSimpleName() + ", but nothing was thrown");
    }

    static String topic(String name, int partitions) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        return name;
    }

    static KafkaProducer<String, String> transactional(String id, String... settings) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("transactional.id", id);
        for (int each = 0; each < settings.length; each += 2) config.put(settings[each], settings[each + 1]);
        KafkaProducer<String, String> producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    static void send(Producer<String, String> producer, String topic, int partition, String value) {
        producer.send(new ProducerRecord<>(topic, partition, null, value));
    }

    static KafkaConsumer<String, String> consumer(String... settings) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        config.put("isolation.level", "read_committed");
        for (int each = 0; each < settings.length; each += 2) config.put(settings[each], settings[each + 1]);
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    /** Everything a reader of committed records gets to see, up to the last stable offset. */
    static List<String> committed(String topic, int partitions) {
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer()) {
            for (int partition = 0; partition < partitions; partition++) {
                TopicPartition place = new TopicPartition(topic, partition);
                consumer.assign(List.of(place));
                consumer.seekToBeginning(List.of(place));
                long end = consumer.endOffsets(List.of(place)).get(place);
                while (consumer.position(place) < end) consumer.poll(A_MOMENT).forEach(record -> found.add(record.value()));
            }
        }
        return found;
    }

    static void until(String what, Callable<Boolean> holds) throws Exception {
        long deadline = System.currentTimeMillis() + 60_000;
        while (!holds.call()) {
            that(System.currentTimeMillis() < deadline, what);
            Thread.sleep(20);
        }
    }

    static TransactionDescription shown(String id) throws Exception {
        return admin.describeTransactions(List.of(id)).all().get().get(id);
    }

    static void atRest(String id) throws Exception {
        until("the markers of " + id, () -> shown(id).state().toString().matches("Empty|CompleteCommit|CompleteAbort"));
    }

    static List<ProducerState> producers(TopicPartition place) throws Exception {
        return admin.describeProducers(List.of(place)).all().get().get(place).activeProducers();
    }

    // -- transactions

    static void committedOnly() throws Exception {
        String topic = topic("tx-committed", 1);
        List<String> expected = new ArrayList<>();
        try (KafkaProducer<String, String> producer = transactional("committed")) {
            for (int each = 0; each < 10; each++) {
                producer.beginTransaction();
                for (int record = 0; record < 3; record++) send(producer, topic, 0, each + "-" + record);
                if (each % 3 == 1) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                    for (int record = 0; record < 3; record++) expected.add(each + "-" + record);
                }
            }
        }
        atRest("committed");
        same(expected, committed(topic, 1));
    }

    static void openOnes() throws Exception {
        String topic = topic("tx-open", 1);
        TopicPartition place = new TopicPartition(topic, 0);
        try (KafkaProducer<String, String> first = transactional("open-1"); KafkaProducer<String, String> second = transactional("open-2")) {
            first.beginTransaction();
            send(first, topic, 0, "slow");
            first.flush();
            second.beginTransaction();
            send(second, topic, 0, "quick");
            second.commitTransaction();
            atRest("open-2");
            same(List.of(), committed(topic, 1));
            try (KafkaConsumer<String, String> consumer = consumer("isolation.level", "read_uncommitted")) {
                same(3L, consumer.endOffsets(List.of(place)).get(place));
            }
            first.commitTransaction();
            atRest("open-1");
            same(List.of("slow", "quick"), committed(topic, 1));
        }
    }

    static void epochs() throws Exception {
        same((short) 2, admin.describeFeatures().featureMetadata().get().finalizedFeatures().get("transaction.version").maxVersionLevel());
        String topic = topic("tx-epochs", 1);
        TopicPartition place = new TopicPartition(topic, 0);
        try (KafkaProducer<String, String> producer = transactional("epochs")) {
            for (int each = 0; each < 4; each++) {
                same(each, shown("epochs").producerEpoch());
                producer.beginTransaction();
                send(producer, topic, 0, "" + each);
                producer.flush();
                same(each, producers(place).get(0).producerEpoch());
                producer.commitTransaction();
                atRest("epochs");
                same(each + 1, producers(place).get(0).producerEpoch());
            }
        }
    }

    static void consumeTransformProduce(String protocol) throws Exception {
        String input = topic("tx-input-" + protocol, 2);
        String output = topic("tx-output-" + protocol, 1);
        String group = "tx-copier-" + protocol;
        try (KafkaProducer<String, String> producer = transactional("input-" + protocol)) {
            producer.beginTransaction();
            for (int each = 0; each < 100; each++) send(producer, input, each % 2, "" + each);
            producer.commitTransaction();
        }
        atRest("input-" + protocol);
        int transactions = 0;
        // Every fifth transaction is aborted; the copier then starts over from what is committed, as another one would.
        while (committed(output, 1).size() < 100) {
            try (KafkaConsumer<String, String> consumer = consumer("group.id", group, "group.protocol", protocol, "max.poll.records", "7");
                    KafkaProducer<String, String> producer = transactional("copier-" + protocol)) {
                consumer.subscribe(List.of(input));
                boolean aborted = false;
                long deadline = System.currentTimeMillis() + 60_000;
                int copied = committed(output, 1).size();
                while (!aborted && copied < 100) {
                    that(System.currentTimeMillis() < deadline, copied + " records were copied");
                    ConsumerRecords<String, String> records = consumer.poll(A_MOMENT);
                    if (records.isEmpty()) continue;
                    producer.beginTransaction();
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    for (ConsumerRecord<String, String> record : records) {
                        send(producer, output, 0, record.value());
                        offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                    aborted = ++transactions % 5 == 0;
                    if (aborted) {
                        producer.abortTransaction();
                    } else {
                        producer.commitTransaction();
                        copied += records.count();
                    }
                }
            }
            atRest("copier-" + protocol);
        }
        List<String> numbers = committed(output, 1);
        same(100, numbers.size());
        same(100, new HashSet<>(numbers).size());
        for (int parity = 0; parity < 2; parity++) {
            int wanted = parity;
            List<Integer> own = numbers.stream().map(Integer::parseInt).filter(each -> each % 2 == wanted).toList();
            same(own.stream().sorted().toList(), own);
        }
        Map<TopicPartition, OffsetAndMetadata> found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        // The last offset of the input is that of its marker.
        for (int partition = 0; partition < 2; partition++) same(50L, found.get(new TopicPartition(input, partition)).offset());
    }

    static void abortedOffsets() throws Exception {
        String topic = topic("tx-aborted-offsets", 1);
        TopicPartition place = new TopicPartition(topic, 0);
        ConsumerGroupMetadata group = new ConsumerGroupMetadata("aborted-offsets");
        ListConsumerGroupOffsetsOptions stable = new ListConsumerGroupOffsetsOptions().requireStable(true);
        try (KafkaProducer<String, String> producer = transactional("aborted-offsets")) {
            for (long offset : new long[] {1, 2, 3}) {
                producer.beginTransaction();
                producer.sendOffsetsToTransaction(Map.of(place, new OffsetAndMetadata(offset)), group);
                // Whoever wants to be sure is told nothing before the end.
                same(null, admin.listConsumerGroupOffsets("aborted-offsets", stable).partitionsToOffsetAndMetadata().get().get(place));
                if (offset == 2) producer.abortTransaction();
                else producer.commitTransaction();
                atRest("aborted-offsets");
                long expected = offset == 2 ? 1 : offset;
                same(expected, admin.listConsumerGroupOffsets("aborted-offsets").partitionsToOffsetAndMetadata().get().get(place).offset());
            }
        }
    }

    static void oldGeneration(String protocol) throws Exception {
        String topic = topic("tx-generation-" + protocol, 2);
        String group = "generation-" + protocol;
        try (KafkaConsumer<String, String> first = consumer("group.id", group, "group.protocol", protocol);
                KafkaConsumer<String, String> second = consumer("group.id", group, "group.protocol", protocol);
                KafkaProducer<String, String> producer = transactional("generation-" + protocol)) {
            first.subscribe(List.of(topic));
            until("assigned", () -> first.poll(A_MOMENT) != null && first.assignment().size() == 2);
            ConsumerGroupMetadata old = first.groupMetadata();
            second.subscribe(List.of(topic));
            until("shared", () -> first.poll(A_MOMENT) != null && second.poll(A_MOMENT) != null
                && first.assignment().size() == 1 && second.assignment().size() == 1);
            // What it still has, a member of the new protocol may commit with its old epoch (KIP-1251); not what it had to give up.
            TopicPartition given = second.assignment().iterator().next();
            TopicPartition place = first.assignment().iterator().next();
            producer.beginTransaction();
            thrown(CommitFailedException.class, () -> {
                producer.sendOffsetsToTransaction(Map.of(given, new OffsetAndMetadata(1)), old);
                producer.commitTransaction();
            });
            producer.abortTransaction();
            producer.beginTransaction();
            producer.sendOffsetsToTransaction(Map.of(place, new OffsetAndMetadata(2)), first.groupMetadata());
            producer.commitTransaction();
            atRest("generation-" + protocol);
            same(2L, admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(place).offset());
        }
    }

    static void zombie() throws Exception {
        String topic = topic("tx-zombie", 1);
        KafkaProducer<String, String> zombie = transactional("zombie");
        zombie.beginTransaction();
        send(zombie, topic, 0, "of the living");
        zombie.commitTransaction();
        KafkaProducer<String, String> next = transactional("zombie");
        zombie.beginTransaction();
        ExecutionException refused = thrownAsIs(() -> zombie.send(new ProducerRecord<>(topic, 0, null, "of the dead")).get());
        that(refused.getCause() instanceof InvalidProducerEpochException || refused.getCause() instanceof ProducerFencedException,
            "refused with " + refused.getCause());
        next.beginTransaction();
        send(next, topic, 0, "of the next");
        next.commitTransaction();
        thrown(KafkaException.class, zombie::commitTransaction);
        zombie.close(Duration.ZERO);
        next.close();
        atRest("zombie");
        same(List.of("of the living", "of the next"), committed(topic, 1));
    }

    static ExecutionException thrownAsIs(Claim what) throws Exception {
        try {
            what.hold();
        } catch (ExecutionException wrong) {
            return wrong;
        }
        throw new AssertionError("nothing was thrown");
    }

    static void zombieInTheMiddle() throws Exception {
        String topic = topic("tx-middle", 1);
        KafkaProducer<String, String> zombie = transactional("middle");
        zombie.beginTransaction();
        send(zombie, topic, 0, "lost");
        zombie.flush();
        KafkaProducer<String, String> next = transactional("middle");
        thrown(ProducerFencedException.class, zombie::commitTransaction);
        next.beginTransaction();
        send(next, topic, 0, "kept");
        next.commitTransaction();
        zombie.close(Duration.ZERO);
        next.close();
        atRest("middle");
        same(List.of("kept"), committed(topic, 1));
    }

    static void timeout() throws Exception {
        String topic = topic("tx-timeout", 1);
        try (KafkaProducer<String, String> producer = transactional("timeout", "transaction.timeout.ms", "500")) {
            producer.beginTransaction();
            send(producer, topic, 0, "too late");
            producer.flush();
            until("the coordinator aborts", () -> shown("timeout").state() == TransactionState.COMPLETE_ABORT);
            thrown(KafkaException.class, producer::commitTransaction);
        } catch (KafkaException expected) {
            // Closing what was fenced may say so once more.
        }
        try (KafkaProducer<String, String> producer = transactional("timeout")) {
            producer.beginTransaction();
            send(producer, topic, 0, "in time");
            producer.commitTransaction();
        }
        atRest("timeout");
        same(List.of("in time"), committed(topic, 1));
    }

    static void manyPartitions() throws Exception {
        String topic = topic("tx-many-partitions", 30);
        try (KafkaProducer<String, String> producer = transactional("many-partitions")) {
            for (int round = 0; round < 4; round++) {
                producer.beginTransaction();
                for (int partition = 0; partition < 30; partition++) send(producer, topic, partition, round + "-" + partition);
                producer.flush();
                same(30, shown("many-partitions").topicPartitions().size());
                if (round % 2 == 1) producer.abortTransaction();
                else producer.commitTransaction();
            }
        }
        atRest("many-partitions");
        List<String> found = committed(topic, 30);
        same(60, found.size());
        same(Set.of("0", "2"), found.stream().map(each -> each.split("-")[0]).collect(Collectors.toSet()));
    }

    static void manyInARow() throws Exception {
        String topic = topic("tx-row", 1);
        try (KafkaProducer<String, String> producer = transactional("row")) {
            for (int each = 0; each < 200; each++) {
                producer.beginTransaction();
                send(producer, topic, 0, "" + each);
                producer.commitTransaction();
            }
        }
        atRest("row");
        List<String> found = committed(topic, 1);
        same(200, found.size());
        for (int each = 0; each < 200; each++) same("" + each, found.get(each));
    }

    // -- what operators see and do

    static void described() throws Exception {
        String topic = topic("tx-described", 2);
        TopicPartition place = new TopicPartition(topic, 0);
        try (KafkaProducer<String, String> producer = transactional("described", "transaction.timeout.ms", "45000")) {
            TransactionDescription empty = shown("described");
            same(TransactionState.EMPTY, empty.state());
            same(45000L, empty.transactionTimeoutMs());
            same(OptionalLong.empty(), empty.transactionStartTimeMs());
            producer.beginTransaction();
            send(producer, topic, 0, "0");
            send(producer, topic, 1, "1");
            producer.flush();
            TransactionDescription open = shown("described");
            same(TransactionState.ONGOING, open.state());
            same(1, open.coordinatorId());
            same(Set.of(place, new TopicPartition(topic, 1)), open.topicPartitions());
            that(Math.abs(open.transactionStartTimeMs().getAsLong() - System.currentTimeMillis()) < 60_000, "start " + open.transactionStartTimeMs());
            ProducerState state = producers(place).get(0);
            same(open.producerId(), state.producerId());
            same(OptionalLong.of(0), state.currentTransactionStartOffset());
            same(0, state.lastSequence());
            same(Optional.of(TransactionState.ONGOING), listed("described", new ListTransactionsOptions()).map(TransactionListing::state));
            ListTransactionsOptions ongoing = new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING));
            same(open.producerId(), listed("described", ongoing).get().producerId());
            ongoing.filterProducerIds(Set.of(open.producerId() + 1_000_000));
            same(Optional.empty(), listed("described", ongoing));
            same(Optional.empty(), listed("described", new ListTransactionsOptions().filterStates(Set.of(TransactionState.COMPLETE_ABORT))));
            same(Optional.empty(), listed("described", new ListTransactionsOptions().filterOnDuration(3_600_000)));
            that(listed("described", new ListTransactionsOptions().filterOnDuration(0)).isPresent(), "by duration");
            that(listed("described", new ListTransactionsOptions().filterOnTransactionalIdPattern("descr.*")).isPresent(), "by pattern");
            same(Optional.empty(), listed("described", new ListTransactionsOptions().filterOnTransactionalIdPattern("descr")));
            producer.commitTransaction();
            atRest("described");
            same(TransactionState.COMPLETE_COMMIT, shown("described").state());
            same(OptionalLong.empty(), producers(place).get(0).currentTransactionStartOffset());
        }
    }

    static Optional<TransactionListing> listed(String id, ListTransactionsOptions options) throws Exception {
        return admin.listTransactions(options).all().get().stream().filter(each -> each.transactionalId().equals(id)).findAny();
    }

    static void fenced() throws Exception {
        String topic = topic("tx-fenced", 1);
        KafkaProducer<String, String> producer = transactional("fenced");
        producer.beginTransaction();
        send(producer, topic, 0, "lost");
        producer.flush();
        FenceProducersResult result = admin.fenceProducers(List.of("fenced", "fenced-before-it-was"));
        result.all().get();
        same(shown("fenced").producerId(), result.producerId("fenced").get());
        same((short) 0, result.epochId("fenced-before-it-was").get());
        thrown(ProducerFencedException.class, producer::commitTransaction);
        producer.close(Duration.ZERO);
        same(List.of(), committed(topic, 1));
    }

    static void terminated() throws Exception {
        String topic = topic("tx-terminated", 1);
        KafkaProducer<String, String> producer = transactional("terminated");
        producer.beginTransaction();
        send(producer, topic, 0, "lost");
        producer.flush();
        admin.forceTerminateTransaction("terminated").result().get();
        atRest("terminated");
        thrown(ProducerFencedException.class, producer::commitTransaction);
        producer.close(Duration.ZERO);
        same(List.of(), committed(topic, 1));
    }

    static void abortedByHand() throws Exception {
        String topic = topic("tx-by-hand", 1);
        TopicPartition place = new TopicPartition(topic, 0);
        KafkaProducer<String, String> hanging = transactional("by-hand");
        hanging.beginTransaction();
        send(hanging, topic, 0, "hangs");
        hanging.flush();
        ProducerState state = producers(place).get(0);
        same(OptionalLong.of(0), state.currentTransactionStartOffset());
        admin.abortTransaction(new AbortTransactionSpec(place, state.producerId(), (short) state.producerEpoch(),
            state.coordinatorEpoch().orElse(0))).all().get();
        same(OptionalLong.empty(), producers(place).get(0).currentTransactionStartOffset());
        try (KafkaProducer<String, String> producer = transactional("by-hand-next")) {
            producer.beginTransaction();
            send(producer, topic, 0, "flows");
            producer.commitTransaction();
        }
        atRest("by-hand-next");
        same(List.of("flows"), committed(topic, 1));
        hanging.close(Duration.ZERO);
    }

    static void absent() throws Exception {
        thrown(TransactionalIdNotFoundException.class, () -> shown("never"));
        same(Optional.empty(), listed("never", new ListTransactionsOptions()));
    }

    static void badTimeouts() throws Exception {
        thrown(KafkaException.class, () -> transactional("too-long", "transaction.timeout.ms", "900001"));
        transactional("long-enough", "transaction.timeout.ms", "900000").close();
    }
}
