import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * What Kafka's controller would make of a partition. Standard input is a list of cases in JSON: a partition, what is wanted of it, and the
 * circumstances; standard output the list of the records that Kafka writes, null where it writes none.
 */
public class PartitionOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (JsonNode each : JSON.readTree(System.in)) answers.add(answer(each));
        JSON.writeValue(System.out, answers);
    }

    private static Object answer(JsonNode asked) {
        JsonNode partition = asked.get("partition");
        int[] replicas = array(partition.get("replicas"));
        Uuid[] directories = new Uuid[replicas.length];
        for (int i = 0; i < replicas.length; i++) directories[i] = directory(partition.get("directories").get(i).asInt());
        PartitionRegistration before = new PartitionRegistration.Builder().
            setReplicas(replicas).
            setDirectories(directories).
            setIsr(array(partition.get("isr"))).
            setRemovingReplicas(array(partition.get("removing"))).
            setAddingReplicas(array(partition.get("adding"))).
            setElr(array(partition.get("eligible"))).
            setLastKnownElr(array(partition.get("last_known"))).
            setLeader(partition.get("leader").asInt()).
            setLeaderRecoveryState(LeaderRecoveryState.of((byte) partition.get("recovery_state").asInt())).
            setLeaderEpoch(0).
            setPartitionEpoch(0).
            build();
        List<Integer> alive = list(asked.get("alive"));
        PartitionChangeBuilder builder = new PartitionChangeBuilder(
            before,
            Uuid.ONE_UUID,
            0,
            alive::contains,
            MetadataVersion.latestProduction(),
            asked.get("min_isr").asInt(),
            asked.get("eligible_enabled").asBoolean());
        builder.setElection(PartitionChangeBuilder.Election.valueOf(asked.get("election").asText()));
        builder.setDefaultDirProvider(broker -> directory(10 * broker));
        JsonNode wanted = asked.get("wanted");
        if (!wanted.get("isr").isNull()) builder.setTargetIsr(list(wanted.get("isr")));
        if (!wanted.get("replicas").isNull()) builder.setTargetReplicas(list(wanted.get("replicas")));
        if (!wanted.get("removing").isNull()) builder.setTargetRemoving(list(wanted.get("removing")));
        if (!wanted.get("adding").isNull()) builder.setTargetAdding(list(wanted.get("adding")));
        if (!wanted.get("recovery_state").isNull())
            builder.setTargetLeaderRecoveryState(LeaderRecoveryState.of((byte) wanted.get("recovery_state").asInt()));
        if (!wanted.get("lost").isEmpty()) builder.setUncleanShutdownReplicas(list(wanted.get("lost")));
        wanted.get("directories").fields().forEachRemaining(
            each -> builder.setDirectory(Integer.parseInt(each.getKey()), directory(each.getValue().asInt())));
        Optional<ApiMessageAndVersion> built = builder.build();
        if (built.isEmpty()) return null;
        PartitionChangeRecord record = (PartitionChangeRecord) built.get().message();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("isr", record.isr());
        answer.put("leader", record.leader());
        answer.put("replicas", record.replicas());
        answer.put("removing", record.removingReplicas());
        answer.put("adding", record.addingReplicas());
        answer.put("recovery_state", record.leaderRecoveryState());
        answer.put("eligible", record.eligibleLeaderReplicas());
        answer.put("last_known", record.lastKnownElr());
        answer.put("directories", record.directories() == null ? null : record.directories().stream().map(Uuid::getLeastSignificantBits).toList());
        return answer;
    }

    /** Numbered directories, none of which is a reserved one. */
    private static Uuid directory(int number) {
        return new Uuid(1L, number);
    }

    private static int[] array(JsonNode numbers) {
        return list(numbers).stream().mapToInt(Integer::intValue).toArray();
    }

    private static List<Integer> list(JsonNode numbers) {
        List<Integer> found = new ArrayList<>();
        for (JsonNode each : numbers) found.add(each.asInt());
        return found;
    }
}
