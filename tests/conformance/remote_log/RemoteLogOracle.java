import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataCache;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataTopicPartitioner;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogSegmentMetadataSnapshot;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.RemoteLogManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;

/**
 * Kafka's own classes for remote log metadata. Standard input is a list of questions in JSON, standard output the list of answers.
 */
public class RemoteLogOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final RemoteLogMetadataSerde SERDE = new RemoteLogMetadataSerde();

    public static void main(String[] arguments) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (JsonNode each : JSON.readTree(System.in)) answers.add(answer(each));
        JSON.writeValue(System.out, answers);
    }

    private static Object answer(JsonNode asked) throws Exception {
        switch (asked.get("do").asText()) {
            case "encode": return hex(SERDE.serialize(event(asked)));
            case "snapshot": return hex(SERDE.serialize(RemoteLogSegmentMetadataSnapshot.create((RemoteLogSegmentMetadata) event(asked))));
            case "rewrite": return hex(SERDE.serialize(decoded(asked.get("bytes"))));
            case "partition": return new RemoteLogMetadataTopicPartitioner(asked.get("count").asInt()).metadataPartition(partition(asked));
            case "replay": return replayed(asked);
            case "within": return within(asked);
            default: throw new IllegalArgumentException(asked.toString());
        }
    }

    private static RemoteLogMetadata event(JsonNode from) {
        long time = from.get("eventTimestamp").asLong();
        int broker = from.get("broker").asInt();
        switch (from.get("kind").asText()) {
            case "segment":
                return new RemoteLogSegmentMetadata(segmentId(from), from.get("start").asLong(), from.get("end").asLong(),
                    from.get("maxTimestamp").asLong(), broker, time, from.get("size").asInt(), custom(from),
                    RemoteLogSegmentState.forId((byte) from.get("state").asInt()), epochs(from.get("epochs")), from.get("txnEmpty").asBoolean());
            case "update":
                return new RemoteLogSegmentMetadataUpdate(segmentId(from), time, custom(from),
                    RemoteLogSegmentState.forId((byte) from.get("state").asInt()), broker);
            default:
                return new RemotePartitionDeleteMetadata(partition(from),
                    RemotePartitionDeleteState.forId((byte) from.get("state").asInt()), time, broker);
        }
    }

    private static Object replayed(JsonNode asked) throws Exception {
        RemoteLogMetadataCache cache = new RemoteLogMetadataCache();
        Method add = opened("addCopyInProgressSegment", RemoteLogSegmentMetadata.class);
        Method update = opened("updateRemoteLogSegmentMetadata", RemoteLogSegmentMetadataUpdate.class);
        Method find = opened("remoteLogSegmentMetadata", int.class, long.class);
        Method highest = opened("highestOffsetForEpoch", int.class);
        for (JsonNode each : asked.get("events")) {
            RemoteLogMetadata event = decoded(each);
            (event instanceof RemoteLogSegmentMetadata ? add : update).invoke(cache, event);
        }
        List<Object> found = new ArrayList<>();
        for (JsonNode each : asked.get("asked")) {
            Optional<?> segment = (Optional<?>) find.invoke(cache, each.get(0).asInt(), each.get(1).asLong());
            found.add(segment.map(one -> ((RemoteLogSegmentMetadata) one).remoteLogSegmentId().id().toString()).orElse(null));
        }
        List<Object> ends = new ArrayList<>();
        for (JsonNode epoch : asked.get("epochs")) ends.add(((Optional<?>) highest.invoke(cache, epoch.asInt())).orElse(null));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("found", found);
        answer.put("highest", ends);
        return answer;
    }

    private static Object within(JsonNode asked) throws Exception {
        Method method = RemoteLogManager.class.getDeclaredMethod(
            "isRemoteSegmentWithinLeaderEpochs", RemoteLogSegmentMetadata.class, long.class, NavigableMap.class);
        Method filter = RemoteLogManager.class.getDeclaredMethod("buildFilteredLeaderEpochMap", NavigableMap.class);
        method.setAccessible(true);
        filter.setAccessible(true);
        return method.invoke(null, decoded(asked.get("bytes")), asked.get("end").asLong(), filter.invoke(null, epochs(asked.get("epochs"))));
    }

    private static Method opened(String name, Class<?>... types) throws Exception {
        Method method = RemoteLogMetadataCache.class.getDeclaredMethod(name, types);
        method.setAccessible(true);
        return method;
    }

    private static RemoteLogMetadata decoded(JsonNode bytes) {
        return SERDE.deserialize(HexFormat.of().parseHex(bytes.asText()));
    }

    private static TopicIdPartition partition(JsonNode from) {
        return new TopicIdPartition(Uuid.fromString(from.get("topicId").asText()),
            new TopicPartition(from.get("topic").asText(), from.get("partition").asInt()));
    }

    private static RemoteLogSegmentId segmentId(JsonNode from) {
        return new RemoteLogSegmentId(partition(from), Uuid.fromString(from.get("uuid").asText()));
    }

    private static Optional<CustomMetadata> custom(JsonNode from) {
        JsonNode custom = from.get("custom");
        return custom.isNull() ? Optional.empty() : Optional.of(new CustomMetadata(HexFormat.of().parseHex(custom.asText())));
    }

    private static TreeMap<Integer, Long> epochs(JsonNode from) {
        TreeMap<Integer, Long> epochs = new TreeMap<>();
        for (JsonNode each : from) epochs.put(each.get(0).asInt(), each.get(1).asLong());
        return epochs;
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
