// The Java client's producer, consumer and admin client against one broker, as a list of claims.
//
// Each claim prints a line of JSON when it was tried: {"claim": name, "failure": null or what went wrong}. The Python test has the
// same list and fails for every claim that failed or is missing.

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.FetchSessionHandler;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;

public class JavaClient {
    interface Claim {
        void hold() throws Exception;
    }

    static String bootstrap;
    static Admin admin;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        Map<String, Claim> claims = new java.util.LinkedHashMap<>();
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) claims.put("records of all shapes, " + codec, () -> shapes(codec));
        claims.put("an idempotent producer with five batches in flight", JavaClient::idempotent);
        claims.put("acks 0 and 1", JavaClient::acks);
        claims.put("a record that is too large", JavaClient::tooLarge);
        claims.put("a timestamp from the far future", JavaClient::farFuture);
        claims.put("append time", JavaClient::appendTime);
        claims.put("a compacted topic wants keys", JavaClient::compactedWantsKeys);
        claims.put("fetch sessions are incremental", JavaClient::sessions);
        claims.put("a consumer finds its place", JavaClient::places);
        claims.put("an offset out of range", JavaClient::outOfRange);
        claims.put("topics made, described, grown and deleted", JavaClient::topics);
        claims.put("topics in pages", JavaClient::pages);
        claims.put("settings", JavaClient::settings);
        claims.put("offsets listed and records deleted", JavaClient::offsets);
        claims.put("the cluster, its quorum, its features and its directories", JavaClient::cluster);
        claims.put("a topic made by producing to it", JavaClient::autoCreation);
        claims.put("a topic deleted and made again under a producer and a consumer", JavaClient::madeAgain);

        ObjectMapper json = new ObjectMapper();
        for (Map.Entry<String, Claim> claim : claims.entrySet()) {
            ObjectNode line = json.createObjectNode();
            line.put("claim", claim.getKey());
            try {
                claim.getValue().hold();
                line.putNull("failure");
            } catch (Throwable wrong) {
                StringWriter trace = new StringWriter();
                wrong.printStackTrace(new PrintWriter(trace));
                line.put("failure", trace.toString());
            }
            System.out.println(json.writeValueAsString(line));
        }
        admin.close(Duration.ofSeconds(5));
    }

    // -- tools of this file

    static void same(Object expected, Object actual) {
        if (!Objects.deepEquals(expected, actual)) throw new AssertionError("expected " + show(expected) + " but found " + show(actual));
    }

    static String show(Object value) {
        return value instanceof byte[] ? java.util.Arrays.toString((byte[]) value) : String.valueOf(value);
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

    static String topic(String name, int partitions, String... settings) throws Exception {
        Map<String, String> configs = new HashMap<>();
        for (int each = 0; each < settings.length; each += 2) configs.put(settings[each], settings[each + 1]);
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
        return name;
    }

    static KafkaProducer<byte[], byte[]> producer(String... settings) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("max.request.size", "10000000");
        for (int each = 0; each < settings.length; each += 2) config.put(settings[each], settings[each + 1]);
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static KafkaConsumer<byte[], byte[]> consumer(String... settings) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        for (int each = 0; each < settings.length; each += 2) config.put(settings[each], settings[each + 1]);
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static List<ConsumerRecord<byte[], byte[]>> read(Consumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        long deadline = System.currentTimeMillis() + 30_000;
        while (found.size() < count) {
            that(System.currentTimeMillis() < deadline, found.size() + " of " + count + " records came");
            consumer.poll(Duration.ofSeconds(1)).forEach(found::add);
        }
        same(count, found.size());
        return found;
    }

    static byte[] bytes(String text) {
        return text.getBytes();
    }

    // -- producing

    static void shapes(String codec) throws Exception {
        String topic = topic("java-shapes-" + codec, 1);
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        long now = 1_790_000_000_000L;
        records.add(new ProducerRecord<>(topic, 0, now, bytes("key"), bytes("value")));
        records.add(new ProducerRecord<>(topic, 0, now + 1, null, bytes("value")));
        records.add(new ProducerRecord<>(topic, 0, now + 2, bytes("key"), (byte[]) null));
        records.add(new ProducerRecord<>(topic, 0, now + 3, null, (byte[]) null));
        records.add(new ProducerRecord<>(topic, 0, now + 4, new byte[0], new byte[0]));
        List<Header> headers = List.of(new RecordHeader("a", bytes("1")), new RecordHeader("null", null), new RecordHeader("a", new byte[0]));
        records.add(new ProducerRecord<>(topic, 0, now - 5, bytes("headed"), bytes("v"), headers));
        records.add(new ProducerRecord<>(topic, 0, now + 6, bytes("long"), new byte[900_000]));
        try (KafkaProducer<byte[], byte[]> producer = producer("compression.type", codec)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (ProducerRecord<byte[], byte[]> record : records) sent.add(producer.send(record));
            for (int each = 0; each < sent.size(); each++) same((long) each, sent.get(each).get().offset());
        }
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            List<ConsumerRecord<byte[], byte[]>> found = read(consumer, records.size());
            for (int each = 0; each < found.size(); each++) {
                same((long) each, found.get(each).offset());
                same(records.get(each).key(), found.get(each).key());
                same(records.get(each).value(), found.get(each).value());
                same(records.get(each).timestamp(), found.get(each).timestamp());
                same(records.get(each).headers(), found.get(each).headers());
                same(Optional.of(0), found.get(each).leaderEpoch());
            }
        }
    }

    static void idempotent() throws Exception {
        String topic = topic("java-idempotent", 3);
        try (KafkaProducer<byte[], byte[]> producer =
                producer("enable.idempotence", "true", "acks", "all", "max.in.flight.requests.per.connection", "5", "batch.size", "200")) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int each = 0; each < 6000; each++) sent.add(producer.send(new ProducerRecord<>(topic, each % 3, null, bytes("" + each))));
            for (int each = 0; each < 6000; each++) same((long) each / 3, sent.get(each).get().offset());
        }
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1), new TopicPartition(topic, 2)));
            int[] next = new int[3];
            for (ConsumerRecord<byte[], byte[]> record : read(consumer, 6000)) {
                same("" + (3 * next[record.partition()]++ + record.partition()), new String(record.value()));
            }
        }
    }

    static void acks() throws Exception {
        String topic = topic("java-acks", 1);
        for (String acks : List.of("0", "1")) {
            try (KafkaProducer<byte[], byte[]> producer = producer("acks", acks, "enable.idempotence", "false")) {
                for (int each = 0; each < 100; each++) producer.send(new ProducerRecord<>(topic, 0, null, bytes(acks))).get();
            }
        }
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            read(consumer, 200);
        }
    }

    static void tooLarge() throws Exception {
        String topic = topic("java-too-large", 1, "max.message.bytes", "5000");
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            thrown(RecordTooLargeException.class, () -> producer.send(new ProducerRecord<>(topic, new byte[6000])).get());
            same(0L, producer.send(new ProducerRecord<>(topic, new byte[4000])).get().offset());
        }
    }

    static void farFuture() throws Exception {
        String topic = topic("java-far-future", 1);
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            thrown(InvalidTimestampException.class, () -> producer.send(new ProducerRecord<>(topic, 0, 4_000_000_000_000L, null, bytes("v"))).get());
        }
    }

    static void appendTime() throws Exception {
        String topic = topic("java-append-time", 1, "message.timestamp.type", "LogAppendTime");
        try (KafkaProducer<byte[], byte[]> producer = producer(); KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            long told = producer.send(new ProducerRecord<>(topic, 0, 5L, null, bytes("v"))).get().timestamp();
            that(told > 1_700_000_000_000L, "the producer is told when it was appended, not " + told);
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            ConsumerRecord<byte[], byte[]> found = read(consumer, 1).get(0);
            same(told, found.timestamp());
            same("LogAppendTime", found.timestampType().toString());
        }
    }

    static void compactedWantsKeys() throws Exception {
        String topic = topic("java-compacted", 1, "cleanup.policy", "compact");
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            thrown(InvalidRecordException.class, () -> producer.send(new ProducerRecord<>(topic, bytes("no key"))).get());
            producer.send(new ProducerRecord<>(topic, bytes("k"), bytes("v"))).get();
        }
    }

    // -- consuming

    @SuppressWarnings("unchecked")
    static FetchSessionHandler session(Object consumer) throws Exception {
        for (String name : List.of("delegate", "fetcher", "sessionHandlers")) {
            Class<?> holder = consumer.getClass();
            Field field = null;
            for (; field == null; holder = holder.getSuperclass()) {
                try {
                    field = holder.getDeclaredField(name);
                } catch (NoSuchFieldException above) {
                    // declared in a class above
                }
            }
            field.setAccessible(true);
            consumer = field.get(consumer);
        }
        return ((Map<Integer, FetchSessionHandler>) consumer).values().iterator().next();
    }

    static void sessions() throws Exception {
        String topic = topic("java-sessions", 20);
        List<TopicPartition> partitions = new ArrayList<>();
        for (int each = 0; each < 20; each++) partitions.add(new TopicPartition(topic, each));
        try (KafkaProducer<byte[], byte[]> producer = producer("linger.ms", "0");
             KafkaConsumer<byte[], byte[]> consumer = consumer("fetch.max.wait.ms", "20")) {
            consumer.assign(partitions);
            for (int each = 0; each < 20; each++) producer.send(new ProducerRecord<>(topic, each, null, bytes("first"))).get();
            read(consumer, 20);
            int session = session(consumer).sessionId();
            that(session != 0, "the broker opened a session");
            // Rare news from one of many partitions: the session goes on, and nothing is read twice or missed.
            for (int each = 0; each < 100; each++) {
                producer.send(new ProducerRecord<>(topic, each % 7, null, bytes("" + each))).get();
                ConsumerRecord<byte[], byte[]> found = read(consumer, 1).get(0);
                same("" + each, new String(found.value()));
                same(each % 7, found.partition());
            }
            same(session, session(consumer).sessionId());
            // Partitions leave the session and come back.
            consumer.pause(partitions.subList(0, 10));
            producer.send(new ProducerRecord<>(topic, 3, null, bytes("paused"))).get();
            producer.send(new ProducerRecord<>(topic, 15, null, bytes("not paused"))).get();
            same("not paused", new String(read(consumer, 1).get(0).value()));
            consumer.resume(partitions);
            same("paused", new String(read(consumer, 1).get(0).value()));
            consumer.assign(partitions.subList(5, 8));
            producer.send(new ProducerRecord<>(topic, 6, null, bytes("fewer"))).get();
            same("fewer", new String(read(consumer, 1).get(0).value()));
            same(session, session(consumer).sessionId());
        }
    }

    static void places() throws Exception {
        String topic = topic("java-places", 2);
        TopicPartition partition = new TopicPartition(topic, 1);
        try (KafkaProducer<byte[], byte[]> producer = producer(); KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            for (int each = 0; each < 10; each++) producer.send(new ProducerRecord<>(topic, 1, 1000L + 10 * each, null, bytes("" + each))).get();
            consumer.assign(List.of(partition));
            same(Map.of(partition, 0L), consumer.beginningOffsets(List.of(partition)));
            same(Map.of(partition, 10L), consumer.endOffsets(List.of(partition)));
            OffsetAndTimestamp at = consumer.offsetsForTimes(Map.of(partition, 1045L)).get(partition);
            same(5L, at.offset());
            same(1050L, at.timestamp());
            same(Optional.of(0), at.leaderEpoch());
            same(null, consumer.offsetsForTimes(Map.of(partition, 9999L)).get(partition));
            consumer.seek(partition, 7);
            same("7", new String(read(consumer, 3).get(0).value()));
            consumer.seek(partition, new OffsetAndMetadata(4, Optional.of(0), ""));
            same("4", new String(read(consumer, 6).get(0).value()));
            consumer.seekToEnd(List.of(partition));
            same(10L, consumer.position(partition));
            same(2, consumer.partitionsFor(topic).size());
            same(1, consumer.partitionsFor(topic).get(0).leader().id());
            that(consumer.listTopics().containsKey(topic), "the topic is listed");
        }
    }

    static void outOfRange() throws Exception {
        String topic = topic("java-out-of-range", 1);
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaProducer<byte[], byte[]> producer = producer();
             KafkaConsumer<byte[], byte[]> strict = consumer("auto.offset.reset", "none");
             KafkaConsumer<byte[], byte[]> lenient = consumer()) {
            producer.send(new ProducerRecord<>(topic, bytes("v"))).get();
            strict.assign(List.of(partition));
            strict.seek(partition, 99);
            thrown(org.apache.kafka.clients.consumer.OffsetOutOfRangeException.class, () -> read(strict, 1));
            lenient.assign(List.of(partition));
            lenient.seek(partition, 99);
            same(0L, read(lenient, 1).get(0).offset());
        }
    }

    // -- administering

    static void topics() throws Exception {
        CreateTopicsResult made = admin.createTopics(List.of(new NewTopic("java-made", 2, (short) 1).configs(Map.of("retention.ms", "5"))));
        Uuid id = made.topicId("java-made").get();
        same(2, made.numPartitions("java-made").get());
        same("5", made.config("java-made").get().get("retention.ms").value());
        thrown(TopicExistsException.class, () -> topic("java-made", 1));
        thrown(InvalidTopicException.class, () -> topic("a b", 1));
        thrown(InvalidReplicationFactorException.class,
            () -> admin.createTopics(List.of(new NewTopic("java-two", 1, (short) 2))).all().get());
        thrown(InvalidReplicaAssignmentException.class,
            () -> admin.createTopics(List.of(new NewTopic("java-hand", Map.of(0, List.of(9))))).all().get());
        thrown(InvalidConfigurationException.class, () -> topic("java-wrong", 1, "retention.ms", "soon"));
        admin.createTopics(List.of(new NewTopic("java-dry", 1, (short) 1)), new CreateTopicsOptions().validateOnly(true)).all().get();
        that(!admin.listTopics().names().get().contains("java-dry"), "only validated");

        admin.createPartitions(Map.of("java-made", NewPartitions.increaseTo(5))).all().get();
        TopicDescription described = admin.describeTopics(List.of("java-made")).allTopicNames().get().get("java-made");
        same(5, described.partitions().size());
        same(id, described.topicId());
        same(1, described.partitions().get(4).leader().id());
        that(described.authorizedOperations() == null || !described.authorizedOperations().isEmpty(), "operations");
        same("java-made", admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id).name());
        thrown(InvalidPartitionsException.class, () -> admin.createPartitions(Map.of("java-made", NewPartitions.increaseTo(3))).all().get());
        thrown(UnknownTopicOrPartitionException.class, () -> admin.describeTopics(List.of("java-never")).allTopicNames().get());

        admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
        thrown(UnknownTopicIdException.class, () -> admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get());
        thrown(UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of("java-made")).all().get());
    }

    static void pages() throws Exception {
        topic("java-pages-a", 30);
        topic("java-pages-b", 30);
        DescribeTopicsOptions few = new DescribeTopicsOptions().partitionSizeLimitPerResponse(7);
        Map<String, TopicDescription> found = admin.describeTopics(List.of("java-pages-b", "java-pages-a"), few).allTopicNames().get();
        for (String name : List.of("java-pages-a", "java-pages-b")) {
            List<Integer> indexes = found.get(name).partitions().stream().map(TopicPartitionInfo::partition).collect(Collectors.toList());
            same(java.util.stream.IntStream.range(0, 30).boxed().collect(Collectors.toList()), indexes);
        }
    }

    static void settings() throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic("java-settings", 1, "retention.ms", "5"));
        DescribeConfigsOptions all = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        Config config = admin.describeConfigs(List.of(resource), all).all().get().get(resource);
        same("5", config.get("retention.ms").value());
        same(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, config.get("retention.ms").source());
        same(ConfigEntry.ConfigType.LONG, config.get("retention.ms").type());
        that(!config.get("retention.ms").documentation().isEmpty(), "documented");
        same("log.segment.bytes", config.get("segment.bytes").synonyms().get(0).name());

        admin.incrementalAlterConfigs(Map.of(resource, List.of(
            new AlterConfigOp(new ConfigEntry("retention.ms", "6"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)))).all().get();
        config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        same("6", config.get("retention.ms").value());
        same("delete,compact", config.get("cleanup.policy").value());
        admin.incrementalAlterConfigs(Map.of(resource, List.of(
            new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE),
            new AlterConfigOp(new ConfigEntry("cleanup.policy", "delete"), AlterConfigOp.OpType.SUBTRACT)))).all().get();
        config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        same("604800000", config.get("retention.ms").value());
        same("compact", config.get("cleanup.policy").value());
        thrown(InvalidConfigurationException.class, () -> admin.incrementalAlterConfigs(Map.of(resource, List.of(
            new AlterConfigOp(new ConfigEntry("retention.ms", "soon"), AlterConfigOp.OpType.SET)))).all().get());

        Collection<ConfigResource> listed = admin.listConfigResources(Set.of(ConfigResource.Type.TOPIC), new ListConfigResourcesOptions()).all().get();
        that(listed.contains(resource), "listed among those with settings");
    }

    static void offsets() throws Exception {
        TopicPartition partition = new TopicPartition(topic("java-offsets", 1), 0);
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            for (long time : List.of(5000L, 9000L, 7000L)) producer.send(new ProducerRecord<>(partition.topic(), 0, time, null, bytes("v"))).get();
        }
        Map<OffsetSpec, Long> wanted = new HashMap<>();
        wanted.put(OffsetSpec.earliest(), 0L);
        wanted.put(OffsetSpec.latest(), 3L);
        wanted.put(OffsetSpec.maxTimestamp(), 1L);
        wanted.put(OffsetSpec.forTimestamp(6000), 1L);
        wanted.put(OffsetSpec.earliestLocal(), 0L);
        wanted.put(OffsetSpec.latestTiered(), -1L);
        wanted.put(OffsetSpec.earliestPendingUpload(), -1L);
        for (Map.Entry<OffsetSpec, Long> each : wanted.entrySet()) {
            same(each.getValue(), admin.listOffsets(Map.of(partition, each.getKey())).partitionResult(partition).get().offset());
        }
        same(2L, admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(2))).lowWatermarks().get(partition).get().lowWatermark());
        same(2L, admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get().offset());
        thrown(OffsetOutOfRangeException.class, () -> admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(9))).all().get());
    }

    static void cluster() throws Exception {
        DescribeClusterResult cluster = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
        same(22, cluster.clusterId().get().length());
        same(1, cluster.nodes().get().size());
        same(1, cluster.controller().get().id());
        that(!cluster.authorizedOperations().get().isEmpty(), "operations");
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        same(1, quorum.leaderId());
        same(1, quorum.voters().size());
        that(quorum.highWatermark() > 0, "something was committed");
        that(!quorum.nodes().get(1).endpoints().isEmpty(), "the voter has an address");
        same((short) 30, admin.describeFeatures().featureMetadata().get().finalizedFeatures().get("metadata.version").maxVersionLevel());
        Map<String, LogDirDescription> directories = admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1);
        same(1, directories.size());
        LogDirDescription directory = directories.values().iterator().next();
        same(null, directory.error());
        that(directory.totalBytes().getAsLong() > 0, "the disk has a size");
        that(directory.replicaInfos().keySet().stream().anyMatch(each -> each.topic().startsWith("java-")), "replicas lie in it");
    }

    // -- topics that come and go

    static void autoCreation() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(); KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            same(0L, producer.send(new ProducerRecord<>("java-appears", bytes("v"))).get().offset());
            consumer.assign(List.of(new TopicPartition("java-appears", 0)));
            read(consumer, 1);
        }
    }

    static void madeAgain() throws Exception {
        String topic = topic("java-again", 1);
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaProducer<byte[], byte[]> producer = producer("metadata.max.age.ms", "500");
             KafkaConsumer<byte[], byte[]> consumer = consumer("metadata.max.age.ms", "500")) {
            producer.send(new ProducerRecord<>(topic, bytes("old"))).get();
            consumer.assign(List.of(partition));
            same("old", new String(read(consumer, 1).get(0).value()));
            admin.deleteTopics(List.of(topic)).all().get();
            topic(topic, 1);
            same(0L, producer.send(new ProducerRecord<>(topic, bytes("new"))).get().offset());
            consumer.seek(partition, 0);
            same("new", new String(read(consumer, 1).get(0).value()));
        }
    }
}
