import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Kafka's own authorizer, asked over stdin: one world a line, one answer a line, both JSON.
 *
 * <pre>
 * {"config": {...}, "acls": [[type, name, pattern, principal, host, operation, permission]],
 *  "questions": [[principal type, principal name, host, operation, type, name]],
 *  "some": [[principal type, principal name, host, operation, type]],
 *  "filters": [[type, name, pattern, principal, host, operation, permission]]}
 * </pre>
 *
 * Types, patterns, operations and permissions are Kafka's numbers. The answer has a boolean for each question, and for each filter
 * the number of rules that it accepts.
 */
public class AuthorizerOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private record Caller(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        @Override
        public String listenerName() {
            return "LISTENER";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.SASL_PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 1;
        }

        @Override
        public int requestVersion() {
            return 1;
        }

        @Override
        public String clientId() {
            return "client";
        }

        @Override
        public int correlationId() {
            return 1;
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode world) throws Exception {
        try (StandardAuthorizer authorizer = new StandardAuthorizer()) {
            Map<String, Object> config = new HashMap<>();
            world.get("config").properties().forEach(each -> config.put(each.getKey(), each.getValue().asText()));
            config.put("node.id", "1");
            authorizer.configure(config);
            authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
            int id = 0;
            for (JsonNode acl : world.get("acls")) {
                authorizer.addAcl(new Uuid(1, ++id), rule(acl));
            }
            authorizer.completeInitialLoad();

            ObjectNode answer = JSON.createObjectNode();
            ArrayNode decisions = answer.putArray("questions");
            for (JsonNode each : world.get("questions")) {
                ResourcePattern resource = new ResourcePattern(
                    ResourceType.fromCode((byte) each.get(4).asInt()), each.get(5).asText(), PatternType.LITERAL);
                Action action = new Action(AclOperation.fromCode((byte) each.get(3).asInt()), resource, 1, false, false);
                decisions.add(authorizer.authorize(caller(each), List.of(action)).get(0) == AuthorizationResult.ALLOWED);
            }
            ArrayNode some = answer.putArray("some");
            for (JsonNode each : world.get("some")) {
                some.add(authorizer.authorizeByResourceType(
                    caller(each),
                    AclOperation.fromCode((byte) each.get(3).asInt()),
                    ResourceType.fromCode((byte) each.get(4).asInt())) == AuthorizationResult.ALLOWED);
            }
            ArrayNode filters = answer.putArray("filters");
            for (JsonNode each : world.get("filters")) {
                int accepted = 0;
                for (AclBinding ignored : authorizer.acls(filter(each))) {
                    accepted++;
                }
                filters.add(accepted);
            }
            return answer;
        }
    }

    private static Caller caller(JsonNode each) throws Exception {
        return new Caller(new KafkaPrincipal(each.get(0).asText(), each.get(1).asText()), InetAddress.getByName(each.get(2).asText()));
    }

    private static StandardAcl rule(JsonNode acl) {
        return new StandardAcl(
            ResourceType.fromCode((byte) acl.get(0).asInt()),
            acl.get(1).asText(),
            PatternType.fromCode((byte) acl.get(2).asInt()),
            acl.get(3).asText(),
            acl.get(4).asText(),
            AclOperation.fromCode((byte) acl.get(5).asInt()),
            AclPermissionType.fromCode((byte) acl.get(6).asInt()));
    }

    private static AclBindingFilter filter(JsonNode each) {
        return new AclBindingFilter(
            new ResourcePatternFilter(
                ResourceType.fromCode((byte) each.get(0).asInt()), text(each.get(1)), PatternType.fromCode((byte) each.get(2).asInt())),
            new AccessControlEntryFilter(
                text(each.get(3)),
                text(each.get(4)),
                AclOperation.fromCode((byte) each.get(5).asInt()),
                AclPermissionType.fromCode((byte) each.get(6).asInt())));
    }

    private static String text(JsonNode node) {
        return node.isNull() ? null : node.asText();
    }
}
