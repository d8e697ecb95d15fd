import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * What Kafka itself says about its settings. One JSON request on standard input asks to try texts on keys ("probes"), whole broker
 * configurations ("brokers") and properties files ("properties"); the JSON answer has those results and every table of keys.
 */
public class ConfigOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ConfigDef> TABLES = new LinkedHashMap<>();

    static {
        TABLES.put("broker", AbstractKafkaConfig.CONFIG_DEF);
        TABLES.put("broker at run time", QuotaConfig.brokerQuotaConfigs());
        TABLES.put("topic", LogConfig.configDefCopy());
        TABLES.put("group", GroupConfig.CONFIG_DEF);
        TABLES.put("client metrics", ClientMetricsConfigs.configDef());
        TABLES.put("client quota", QuotaConfig.userAndClientQuotaConfigs());
        TABLES.put("ip quota", QuotaConfig.ipConfigs());
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode request = JSON.readTree(System.in);
        Map<String, Object> answer = new LinkedHashMap<>();
        Map<String, Object> tables = new LinkedHashMap<>();
        TABLES.forEach((name, table) -> tables.put(name, keys(table)));
        answer.put("tables", tables);
        answer.put("update_modes", DynamicBrokerConfig.dynamicConfigUpdateModes());
        answer.put("topic_synonyms", topicSynonyms());
        answer.put("group_synonyms", groupSynonyms());
        answer.put(
            "authorizer_keys",
            List.of(StandardAuthorizer.SUPER_USERS_CONFIG, StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG));
        List<Object> probes = new ArrayList<>();
        for (JsonNode probe : request.get("probes"))
            probes.add(probe(probe.get(0).asText(), probe.get(1).asText(), probe.get(2).asText()));
        answer.put("probes", probes);
        List<Object> brokers = new ArrayList<>();
        for (JsonNode broker : request.get("brokers")) brokers.add(broker(broker));
        answer.put("brokers", brokers);
        List<Object> properties = new ArrayList<>();
        for (JsonNode text : request.get("properties")) properties.add(properties(text.asText()));
        answer.put("properties", properties);
        System.out.println(JSON.writeValueAsString(answer));
    }

    private static Map<String, Object> keys(ConfigDef table) {
        Map<String, Object> keys = new TreeMap<>();
        for (ConfigDef.ConfigKey key : table.configKeys().values()) {
            boolean required = key.defaultValue == ConfigDef.NO_DEFAULT_VALUE;
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("type", key.type.name());
            facts.put("required", required);
            facts.put("default", required ? null : ConfigDef.convertToString(key.defaultValue, key.type));
            facts.put("internal", key.internalConfig);
            keys.put(key.name, facts);
        }
        return keys;
    }

    private static Map<String, Object> topicSynonyms() {
        Map<String, Object> all = new TreeMap<>();
        ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.forEach((key, synonyms) -> {
            List<Object> found = new ArrayList<>();
            // What the converter makes of 1 is the factor between the units.
            synonyms.forEach(synonym -> found.add(List.of(synonym.name(), Long.parseLong(synonym.converter().apply("1")))));
            all.put(key, found);
        });
        return all;
    }

    private static Map<String, Object> groupSynonyms() {
        Map<String, Object> all = new TreeMap<>();
        GroupConfig.ALL_GROUP_CONFIG_SYNONYMS.forEach((key, synonym) -> all.put(key, synonym.orElse(null)));
        return all;
    }

    /** The text Kafka shows for the value it read, or an object that holds its refusal. */
    private static Object probe(String table, String name, String text) {
        try {
            ConfigDef.ConfigKey key = TABLES.get(table).configKeys().get(name);
            Object value = new ConfigDef().define(key).parse(Map.of(name, text)).get(name);
            if (table.equals("client metrics")) {
                Properties alone = new Properties();
                alone.setProperty(name, text);
                ClientMetricsConfigs.validate("subscription", alone);
            }
            return ConfigDef.convertToString(value, key.type);
        } catch (Exception refusal) {
            return refused(refusal);
        }
    }

    private static Object broker(JsonNode given) {
        try {
            Properties properties = new Properties();
            given.fields().forEachRemaining(entry -> properties.setProperty(entry.getKey(), entry.getValue().asText()));
            KafkaConfig config = KafkaConfig.fromProps(properties, false);
            Map<String, Object> topic = new TreeMap<>();
            config.extractLogConfigMap().forEach((key, value) ->
                topic.put(key, ConfigDef.convertToString(value, LogConfig.configType(key).orElseThrow())));
            return Map.of(
                "topic defaults", topic,
                "node.id", config.nodeId(),
                "listeners", endpoints(config.listeners()),
                "advertised", endpoints(config.effectiveAdvertisedBrokerListeners()));
        } catch (Exception refusal) {
            return refused(refusal);
        }
    }

    private static List<Object> endpoints(scala.collection.Seq<Endpoint> endpoints) {
        List<Object> all = new ArrayList<>();
        for (Endpoint each : scala.jdk.javaapi.CollectionConverters.asJava(endpoints))
            all.add(List.of(each.listener(), each.securityProtocol().name, each.host() == null ? "" : each.host(), each.port()));
        return all;
    }

    private static Object properties(String text) {
        try {
            Properties properties = new Properties();
            properties.load(new StringReader(text));
            return properties;
        } catch (Exception refusal) {
            return refused(refusal);
        }
    }

    private static Map<String, Object> refused(Exception refusal) {
        return Map.of("refused", String.valueOf(refusal.getMessage()));
    }
}
