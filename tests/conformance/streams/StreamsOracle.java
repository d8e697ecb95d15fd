import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.StreamsInvalidTopologyException;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.generated.StreamsGroupTopologyValue;
import org.apache.kafka.coordinator.group.streams.StreamsTopology;
import org.apache.kafka.coordinator.group.streams.assignor.*;
import org.apache.kafka.coordinator.group.streams.topics.*;
import org.slf4j.helpers.NOPLogger;

/**
 * What Kafka's group coordinator makes of streams groups. Standard input is a list of cases in JSON: assignments of tasks, topologies to be
 * configured, and topics to be hashed; standard output is the list of Kafka's results.
 */
public class StreamsOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (JsonNode each : JSON.readTree(System.in)) {
            switch (each.get("kind").asText()) {
                case "assign" -> answers.add(assigned(each));
                case "configure" -> answers.add(configured(each));
                case "hash" -> answers.add(hashed(each));
            }
        }
        JSON.writeValue(System.out, answers);
    }

    // -- assignments

    private static Object assigned(JsonNode asked) {
        Map<String, AssignmentMemberSpec> members = new LinkedHashMap<>();
        for (JsonNode each : asked.get("members"))
            members.put(each.get("member").asText(), new AssignmentMemberSpec(
                Optional.empty(), Optional.empty(), tasks(each.get("active")), tasks(each.get("standby")), Map.of(),
                each.get("process").asText(), Map.of(), Map.of(), Map.of()));
        Map<String, JsonNode> groups = new TreeMap<>();
        for (JsonNode each : asked.get("groups")) groups.put(each.get("subtopology").asText(), each);
        TopologyDescriber describer = new TopologyDescriber() {
            public List<String> subtopologies() { return List.copyOf(groups.keySet()); }
            public int maxNumInputPartitions(String id) { return groups.get(id).get("count").asInt(); }
            public boolean isStateful(String id) { return groups.get(id).get("stateful").asBoolean(); }
        };
        Map<String, String> configs = Map.of("num.standby.replicas", asked.get("standbys").asText());
        Map<String, Object> answer = new TreeMap<>();
        new StickyTaskAssignor().assign(new GroupSpecImpl(members, configs), describer).members().forEach((member, given) ->
            answer.put(member, Map.of("active", given.activeTasks(), "standby", given.standbyTasks())));
        return answer;
    }

    private static Map<String, Set<Integer>> tasks(JsonNode listed) {
        Map<String, Set<Integer>> found = new HashMap<>();
        listed.fields().forEachRemaining(each -> {
            Set<Integer> numbers = new HashSet<>();
            for (JsonNode number : each.getValue()) numbers.add(number.asInt());
            found.put(each.getKey(), numbers);
        });
        return found;
    }

    // -- topologies

    private static Object configured(JsonNode asked) {
        StreamsGroupTopologyValue value = new StreamsGroupTopologyValue();
        for (JsonNode each : asked.get("subtopologies")) {
            StreamsGroupTopologyValue.Subtopology made = new StreamsGroupTopologyValue.Subtopology()
                .setSubtopologyId(each.get("id").asText())
                .setSourceTopics(texts(each.get("sources")))
                .setRepartitionSinkTopics(texts(each.get("sinks")))
                .setRepartitionSourceTopics(internal(each.get("repartitions")))
                .setStateChangelogTopics(internal(each.get("changelogs")));
            for (JsonNode group : each.get("copartitioned"))
                made.copartitionGroups().add(new StreamsGroupTopologyValue.CopartitionGroup()
                    .setSourceTopics(indexes(group.get(0))).setRepartitionSourceTopics(indexes(group.get(1))));
            value.subtopologies().add(made);
        }
        try {
            ConfiguredTopology found = InternalTopicManager.configureTopics(
                NOPLogger.NOP_LOGGER, "g", "m", 0, StreamsTopology.fromRecord(value), new Image(asked.get("topics")), Time.SYSTEM);
            Map<String, Object> tasks = new TreeMap<>();
            found.subtopologies().ifPresent(all -> all.forEach((id, one) -> tasks.put(id, one.numberOfTasks())));
            Map<String, Object> missing = new TreeMap<>();
            found.internalTopicsToBeCreated().forEach((name, topic) -> missing.put(name, topic.numPartitions()));
            Map<String, Object> answer = new TreeMap<>(Map.of("tasks", tasks, "missing", missing));
            answer.put("status", found.topicConfigurationException().map(problem -> (int) problem.status().code()).orElse(null));
            answer.put("detail", found.topicConfigurationException().map(Throwable::getMessage).orElse(null));
            return answer;
        } catch (StreamsInvalidTopologyException refused) {
            return Map.of("refused", refused.getMessage());
        }
    }

    private static List<StreamsGroupTopologyValue.TopicInfo> internal(JsonNode topics) {
        List<StreamsGroupTopologyValue.TopicInfo> found = new ArrayList<>();
        for (JsonNode each : topics)
            found.add(new StreamsGroupTopologyValue.TopicInfo().setName(each.get(0).asText()).setPartitions(each.get(1).asInt()));
        return found;
    }

    private static List<String> texts(JsonNode listed) {
        List<String> found = new ArrayList<>();
        for (JsonNode each : listed) found.add(each.asText());
        return found;
    }

    private static List<Short> indexes(JsonNode listed) {
        List<Short> found = new ArrayList<>();
        for (JsonNode each : listed) found.add((short) each.asInt());
        return found;
    }

    // -- hashes

    private static Object hashed(JsonNode asked) {
        Image image = new Image(asked.get("topics"));
        Map<String, Long> hashes = new HashMap<>();
        for (String name : image.topicNames()) hashes.put(name, org.apache.kafka.coordinator.group.Utils.computeTopicHash(name, image));
        // As text, because a long does not fit into a number of JavaScript.
        return String.valueOf(org.apache.kafka.coordinator.group.Utils.computeGroupHash(hashes));
    }

    /** Topics by name: an id in hexadecimal digits, and the racks of the replicas of each partition. */
    private static class Image implements CoordinatorMetadataImage {
        private final Map<String, TopicMetadata> topics = new HashMap<>();

        Image(JsonNode described) {
            described.fields().forEachRemaining(each -> {
                JsonNode racks = each.getValue().get("racks");
                String id = each.getValue().get("id").asText();
                topics.put(each.getKey(), new TopicMetadata() {
                    public String name() { return each.getKey(); }
                    public Uuid id() { return new Uuid(Long.parseUnsignedLong(id, 0, 16, 16), Long.parseUnsignedLong(id, 16, 32, 16)); }
                    public int partitionCount() { return racks.size(); }
                    public List<String> partitionRacks(int partition) { return texts(racks.get(partition)); }
                });
            });
        }

        public Set<Uuid> topicIds() { return Set.of(); }
        public Set<String> topicNames() { return topics.keySet(); }
        public Optional<TopicMetadata> topicMetadata(String name) { return Optional.ofNullable(topics.get(name)); }
        public Optional<TopicMetadata> topicMetadata(Uuid id) { return Optional.empty(); }
        public CoordinatorMetadataDelta emptyDelta() { return CoordinatorMetadataDelta.EMPTY; }
        public long version() { return 0; }
        public boolean isEmpty() { return topics.isEmpty(); }
    }
}
