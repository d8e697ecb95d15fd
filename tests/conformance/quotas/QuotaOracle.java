import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * How long Kafka would make clients wait. Standard input is a list of histories in JSON: windows, and steps that set a quota or record use;
 * standard output the waits of each history in milliseconds, one for each recorded use.
 */
public class QuotaOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        List<List<Integer>> answers = new ArrayList<>();
        for (JsonNode each : JSON.readTree(System.in)) answers.add(waits(each));
        JSON.writeValue(System.out, answers);
        System.exit(0);
    }

    private static List<Integer> waits(JsonNode history) throws Exception {
        ClientQuotaManagerConfig windows = new ClientQuotaManagerConfig(history.get("samples").asInt(), history.get("seconds").asInt());
        Metrics metrics = new Metrics();
        ClientQuotaManager manager = history.get("tokens").asBoolean()
            ? new ControllerMutationQuotaManager(windows, metrics, Time.SYSTEM, "oracle", Optional.empty())
            : new ClientQuotaManager(windows, metrics, QuotaType.PRODUCE, Time.SYSTEM, "oracle");
        List<Integer> found = new ArrayList<>();
        for (JsonNode step : history.get("steps")) {
            if (step.has("quota")) {
                Optional<ConfigEntity> user = entity(step.get("user"), ClientQuotaManager.DEFAULT_USER_ENTITY, true);
                Optional<ConfigEntity> client = entity(step.get("client"), ClientQuotaManager.DEFAULT_USER_CLIENT_ID, false);
                manager.updateQuota(user, client, Optional.of(Quota.upperBound(step.get("quota").asDouble())));
                continue;
            }
            Session session = new Session(new KafkaPrincipal("User", step.get("user").asText()), InetAddress.getLoopbackAddress());
            found.add(manager.maybeRecordAndGetThrottleTimeMs(
                session, step.get("client").asText(), step.get("value").asDouble(), step.get("at").asLong()));
        }
        manager.shutdown();
        metrics.close();
        return found;
    }

    /** A missing part, the default entity (null), or a name. */
    private static Optional<ConfigEntity> entity(JsonNode named, ConfigEntity byDefault, boolean user) {
        if (named == null) return Optional.empty();
        if (named.isNull()) return Optional.of(byDefault);
        return Optional.of(user
            ? new ClientQuotaManager.UserEntity(named.asText())
            : new ClientQuotaManager.ClientIdEntity(named.asText()));
    }
}
