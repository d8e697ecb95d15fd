import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * The assignments of Kafka's assignor of share groups. Standard input is a list of groups in JSON: the partitions of each topic that may be
 * assigned, and the topics and the held partitions of each member; standard output is the list of the assignments.
 */
public class ShareAssignmentOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (JsonNode each : JSON.readTree(System.in)) answers.add(answer(each));
        JSON.writeValue(System.out, answers);
    }

    private static Object answer(JsonNode group) {
        Map<Uuid, Set<Integer>> assignable = partitions(group.get("partitions"));
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Set<Set<Uuid>> subscriptions = new HashSet<>();
        group.get("members").fields().forEachRemaining(member -> {
            Set<Uuid> topics = new HashSet<>();
            member.getValue().get("topics").forEach(topic -> topics.add(topic(topic.asText())));
            subscriptions.add(topics);
            members.put(member.getKey(), new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.empty(), topics, new Assignment(partitions(member.getValue().get("held")))));
        });
        SubscriptionType type = subscriptions.size() > 1 ? SubscriptionType.HETEROGENEOUS : SubscriptionType.HOMOGENEOUS;
        GroupAssignment assigned = new SimpleAssignor().assign(
            new GroupSpecImpl(members, type, Map.of(), Optional.of(assignable)), new Described(assignable));
        Map<String, Map<String, Set<Integer>>> shown = new TreeMap<>();
        assigned.members().forEach((member, assignment) -> {
            Map<String, Set<Integer>> topics = new TreeMap<>();
            assignment.partitions().forEach((id, numbers) -> topics.put(Long.toString(id.getLeastSignificantBits()), numbers));
            shown.put(member, topics);
        });
        return shown;
    }

    private record Described(Map<Uuid, Set<Integer>> assignable) implements SubscribedTopicDescriber {
        @Override
        public int numPartitions(Uuid topic) {
            return assignable.getOrDefault(topic, Set.of()).stream().mapToInt(number -> number + 1).max().orElse(0);
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            return Set.of();
        }
    }

    private static Map<Uuid, Set<Integer>> partitions(JsonNode topics) {
        Map<Uuid, Set<Integer>> found = new HashMap<>();
        topics.fields().forEachRemaining(topic -> {
            Set<Integer> numbers = new HashSet<>();
            topic.getValue().forEach(number -> numbers.add(number.asInt()));
            found.put(topic(topic.getKey()), numbers);
        });
        return found;
    }

    private static Uuid topic(String number) {
        return new Uuid(1L, Long.parseLong(number));
    }
}
