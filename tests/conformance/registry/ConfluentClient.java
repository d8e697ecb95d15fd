import io.confluent.kafka.schemaregistry.ParsedSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaMetadata;
import io.confluent.kafka.schemaregistry.client.rest.entities.Config;
import io.confluent.kafka.schemaregistry.client.rest.entities.Metadata;
import io.confluent.kafka.schemaregistry.client.rest.entities.Rule;
import io.confluent.kafka.schemaregistry.client.rest.entities.RuleKind;
import io.confluent.kafka.schemaregistry.client.rest.entities.RuleMode;
import io.confluent.kafka.schemaregistry.client.rest.entities.RuleSet;
import io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import io.confluent.kafka.serializers.subject.TopicRecordNameStrategy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Confluent's Java client and serializers against a registry and a broker: each claim prints a line of JSON,
 * with null or with the reason why it does not hold.
 */
public class ConfluentClient {
  private static final String ONE =
      "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}";
  private static final String TWO =
      "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},"
          + "{\"name\":\"note\",\"type\":[\"null\",\"string\"],\"default\":null}]}";
  private static final String BROKEN =
      "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},"
          + "{\"name\":\"price\",\"type\":\"int\"}]}";

  private static String bootstrap;
  private static String url;
  private static String topic;

  public static void main(String[] arguments) {
    bootstrap = arguments[0];
    url = arguments[1];
    topic = arguments[2];
    claim("records travel and evolve", ConfluentClient::recordsEvolve);
    claim("a reader gets the fields of its own schema", ConfluentClient::readersSchema);
    claim("a subject is named after topic and record", ConfluentClient::recordNames);
    claim("an unknown schema is refused without automatic registration", ConfluentClient::withoutRegistration);
    claim("the latest version serializes", ConfluentClient::latestVersion);
    claim("versions are registered, found and listed", ConfluentClient::versions);
    claim("an incompatible schema is refused", ConfluentClient::incompatible);
    claim("references are resolved", ConfluentClient::references);
    claim("metadata and rules are kept", ConfluentClient::metadata);
    claim("levels and modes are set, read and deleted", ConfluentClient::settings);
    claim("imports keep ids and versions", ConfluentClient::imports);
    claim("contexts have their own ids", ConfluentClient::contexts);
    claim("deletion is soft and then for good", ConfluentClient::deletion);
    claim("an unknown id is refused", ConfluentClient::unknownId);
  }

  private static void claim(String name, Callable<Void> tried) {
    String failure = "null";
    try {
      tried.call();
    } catch (Throwable thrown) {
      StringBuilder text = new StringBuilder(thrown.toString());
      for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
        text.append("; by ").append(cause);
      }
      StackTraceElement[] trace = thrown.getStackTrace();
      for (StackTraceElement each : trace) {
        if (each.getClassName().equals("ConfluentClient")) {
          text.append("; line ").append(each.getLineNumber());
          break;
        }
      }
      failure = "\"" + text.toString().replace("\\", "/").replace("\"", "'").replace("\n", " ") + "\"";
    }
    System.out.println("{\"claim\":\"" + name + "\",\"failure\":" + failure + "}");
  }

  private static void check(Object found, Object expected) {
    if (!String.valueOf(found).equals(String.valueOf(expected))) {
      throw new AssertionError("found " + found + ", expected " + expected);
    }
  }

  private static void refused(int status, int code, Callable<?> tried) throws Exception {
    try {
      Object answer = tried.call();
      throw new AssertionError("answered " + answer + ", expected " + code);
    } catch (RestClientException error) {
      check(error.getStatus() + " " + error.getErrorCode(), status + " " + code);
    }
  }

  private static CachedSchemaRegistryClient client() {
    return new CachedSchemaRegistryClient(url, 1000);
  }

  private static KafkaProducer<Object, Object> producer(Map<String, Object> extra) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    settings.put("schema.registry.url", url);
    settings.put("key.serializer", KafkaAvroSerializer.class.getName());
    settings.put("value.serializer", KafkaAvroSerializer.class.getName());
    settings.putAll(extra);
    return new KafkaProducer<>(settings);
  }

  private static List<GenericRecord> consumed(String from, int count, Map<String, Object> extra) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    settings.put("schema.registry.url", url);
    settings.put("key.deserializer", KafkaAvroDeserializer.class.getName());
    settings.put("value.deserializer", KafkaAvroDeserializer.class.getName());
    settings.put("auto.offset.reset", "earliest");
    settings.putAll(extra);
    List<GenericRecord> found = new ArrayList<>();
    try (KafkaConsumer<Object, Object> consumer = new KafkaConsumer<>(settings)) {
      consumer.assign(List.of(new TopicPartition(from, 0)));
      long deadline = System.currentTimeMillis() + 60_000;
      while (found.size() < count && System.currentTimeMillis() < deadline) {
        consumer.poll(Duration.ofMillis(200)).forEach(each -> found.add((GenericRecord) each.value()));
      }
    }
    return found;
  }

  private static GenericRecord order(String schema, long id, String note) {
    GenericRecord record = new GenericData.Record(new Schema.Parser().parse(schema));
    record.put("id", id);
    if (note != null) {
      record.put("note", note);
    }
    return record;
  }

  private static Void recordsEvolve() throws Exception {
    try (KafkaProducer<Object, Object> producer = producer(Map.of())) {
      producer.send(new ProducerRecord<>(topic, "a", order(ONE, 1, null))).get();
      producer.send(new ProducerRecord<>(topic, "a", order(TWO, 2, "x"))).get();
    }
    List<GenericRecord> found = consumed(topic, 2, Map.of());
    check(found, "[{\"id\": 1}, {\"id\": 2, \"note\": \"x\"}]");
    check(client().getAllVersions(topic + "-value"), "[1, 2]");
    check(client().getAllVersions(topic + "-key"), "[1]");
    return null;
  }

  private static Void readersSchema() throws Exception {
    Map<String, Object> settings = Map.of("schema.registry.url", url);
    try (KafkaAvroSerializer serializer = new KafkaAvroSerializer(); KafkaAvroDeserializer deserializer = new KafkaAvroDeserializer()) {
      serializer.configure(settings, false);
      deserializer.configure(settings, false);
      byte[] written = serializer.serialize(topic, order(ONE, 1, null));
      Object found = deserializer.deserialize(topic, written, new Schema.Parser().parse(TWO));
      check(found, "{\"id\": 1, \"note\": null}");
    }
    return null;
  }

  private static Void recordNames() throws Exception {
    String other = topic + "-named";
    Map<String, Object> named = Map.of("value.subject.name.strategy", TopicRecordNameStrategy.class.getName());
    try (KafkaProducer<Object, Object> producer = producer(named)) {
      producer.send(new ProducerRecord<>(other, order(ONE, 1, null))).get();
    }
    check(client().getAllVersions(other + "-shop.Order"), "[1]");
    check(consumed(other, 1, named), "[{\"id\": 1}]");
    return null;
  }

  private static Void withoutRegistration() throws Exception {
    try (KafkaProducer<Object, Object> producer = producer(Map.of("auto.register.schemas", "false"))) {
      producer.send(new ProducerRecord<>(topic, order(ONE, 3, null))).get();
      try {
        producer.send(new ProducerRecord<>(topic, order(BROKEN, 3, null))).get();
      } catch (org.apache.kafka.common.errors.SerializationException error) {
        check(((RestClientException) error.getCause()).getErrorCode(), 40403);
        return null;
      }
      throw new AssertionError("the record was sent");
    }
  }

  private static Void latestVersion() throws Exception {
    String other = topic + "-latest";
    client().register(other + "-value", new AvroSchema(TWO));
    Map<String, Object> latest =
        Map.of("auto.register.schemas", "false", "use.latest.version", "true", "latest.compatibility.strict", "false");
    try (KafkaProducer<Object, Object> producer = producer(latest)) {
      producer.send(new ProducerRecord<>(other, order(TWO, 3, "y"))).get();
    }
    check(consumed(other, 1, Map.of()), "[{\"id\": 3, \"note\": \"y\"}]");
    return null;
  }

  private static Void versions() throws Exception {
    String subject = topic + "/with a slash";
    int one = client().register(subject, new AvroSchema(ONE));
    int two = client().register(subject, new AvroSchema(TWO));
    CachedSchemaRegistryClient reader = client();
    check(reader.register(subject, new AvroSchema(ONE)), one);
    check(reader.getId(subject, new AvroSchema(TWO)), two);
    check(reader.getVersion(subject, new AvroSchema(TWO)), 2);
    check(reader.getAllVersions(subject), "[1, 2]");
    check(reader.getSchemaById(one).canonicalString(), ONE);
    check(reader.getSchemaBySubjectAndId(subject, two).canonicalString(), TWO);
    SchemaMetadata latest = reader.getLatestSchemaMetadata(subject);
    check(latest.getVersion() + " " + latest.getId() + " " + latest.getSchemaType(), "2 " + two + " AVRO");
    check(reader.getSchemaMetadata(subject, 1).getSchema(), ONE);
    check(reader.getAllSubjects().contains(subject), true);
    check(reader.getAllSubjectsByPrefix(topic + "/"), "[" + subject + "]");
    check(reader.getAllSubjectsById(one).contains(subject), true);
    check(reader.getAllVersionsById(two).toString().contains(subject), true);
    check(reader.getSchemas(topic + "/", false, true).size(), 1);
    check(reader.parseSchema("AVRO", ONE, List.of()).isPresent(), true);
    return null;
  }

  private static Void incompatible() throws Exception {
    String subject = topic + "-broken";
    client().register(subject, new AvroSchema(ONE));
    check(client().testCompatibility(subject, new AvroSchema(TWO)), true);
    check(client().testCompatibility(subject, new AvroSchema(BROKEN)), false);
    List<String> reasons = client().testCompatibilityVerbose(subject, new AvroSchema(BROKEN));
    check(reasons.get(0).contains("READER_FIELD_MISSING_DEFAULT_VALUE"), true);
    refused(409, 40901, () -> client().register(subject, new AvroSchema(BROKEN)));
    return null;
  }

  private static Void references() throws Exception {
    String subject = topic + "-person";
    client().register(topic + "-order", new AvroSchema(ONE));
    String text =
        "{\"type\":\"record\",\"name\":\"Person\",\"fields\":[{\"name\":\"last\",\"type\":\"shop.Order\"}]}";
    AvroSchema person =
        new AvroSchema(text, List.of(new SchemaReference("shop.Order", topic + "-order", 1)), Map.of("shop.Order", ONE), null);
    int id = client().register(subject, person);
    ParsedSchema found = client().getSchemaById(id);
    check(found.references().get(0).getSubject(), topic + "-order");
    check(((org.apache.avro.Schema) found.rawSchema()).getField("last").schema().getFullName(), "shop.Order");
    refused(422, 42206, () -> client().deleteSubject(topic + "-order"));
    return null;
  }

  private static Void metadata() throws Exception {
    String subject = topic + "-contract";
    Metadata metadata = new Metadata(Map.of("**.id", new TreeSet<>(List.of("PII"))), Map.of("owner", "shop"), new TreeSet<>());
    Rule rule =
        new Rule("check", null, RuleKind.CONDITION, RuleMode.WRITE, "CEL", null, null, "message.id > 0", null, null, false);
    AvroSchema contract = new AvroSchema(ONE).copy(metadata, new RuleSet(List.of(), List.of(rule)));
    client().register(subject, contract);
    SchemaMetadata found = client().getLatestWithMetadata(subject, Map.of("owner", "shop"), false);
    check(found.getMetadata().getProperties(), "{owner=shop}");
    check(found.getMetadata().getTags(), "{**.id=[PII]}");
    check(found.getRuleSet().getDomainRules().get(0).getExpr(), "message.id > 0");
    check(client().getVersion(subject, contract), 1);
    refused(404, 40401, () -> client().getLatestWithMetadata(subject, Map.of("owner", "bank"), false));
    return null;
  }

  private static Void settings() throws Exception {
    String subject = topic + "-settings";
    check(client().getCompatibility(null), "BACKWARD");
    check(client().updateCompatibility(subject, "FULL_TRANSITIVE"), "FULL_TRANSITIVE");
    check(client().getCompatibility(subject), "FULL_TRANSITIVE");
    Config wanted = new Config();
    wanted.setCompatibilityGroup("major");
    wanted.setNormalize(true);
    client().updateConfig(subject, wanted);
    Config found = client().getConfig(subject);
    check(found.getCompatibilityLevel() + " " + found.getCompatibilityGroup(), "FULL_TRANSITIVE major");
    client().deleteConfig(subject);
    refused(404, 40408, () -> client().getCompatibility(subject));
    check(client().setMode("READONLY", subject), "READONLY");
    check(client().getMode(subject), "READONLY");
    refused(422, 42205, () -> client().register(subject, new AvroSchema(ONE)));
    client().deleteMode(subject);
    refused(404, 40409, () -> client().getMode(subject));
    return null;
  }

  private static Void imports() throws Exception {
    String subject = topic + "-imported";
    client().setMode("IMPORT", subject);
    AvroSchema own = new AvroSchema(ONE.replace("Order", "Imported"));
    check(client().register(subject, own, 7, 70_000), 70_000);
    check(client().getVersion(subject, own), 7);
    client().deleteMode(subject);
    return null;
  }

  private static Void contexts() throws Exception {
    String subject = ":.elsewhere:" + topic;
    int id = client().register(subject, new AvroSchema(ONE));
    check(client().getSchemaBySubjectAndId(subject, id).canonicalString(), ONE);
    check(client().getAllContexts().contains(".elsewhere"), true);
    return null;
  }

  private static Void deletion() throws Exception {
    String subject = topic + "-gone";
    client().register(subject, new AvroSchema(ONE));
    client().register(subject, new AvroSchema(TWO));
    refused(404, 40407, () -> client().deleteSchemaVersion(Map.of(), subject, "1", true));
    check(client().deleteSchemaVersion(subject, "1"), 1);
    check(client().getAllVersions(subject), "[2]");
    check(client().getAllVersions(subject, true), "[1, 2]");
    check(client().deleteSchemaVersion(Map.of(), subject, "1", true), 1);
    check(client().deleteSubject(subject), "[2]");
    check(client().getAllSubjects(true).contains(subject), true);
    check(client().deleteSubject(subject, true), "[2]");
    refused(404, 40401, () -> client().getAllVersions(subject, true));
    return null;
  }

  private static Void unknownId() throws Exception {
    refused(404, 40403, () -> client().getSchemaById(123_456));
    refused(404, 40401, () -> client().getLatestSchemaMetadata("none"));
    refused(404, 40402, () -> client().getSchemaMetadata(topic + "-value", 99));
    return null;
  }
}
