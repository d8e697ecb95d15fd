import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

/**
 * Confluent's Java deserializer reads each line of input, a value in base64, and Confluent's Java serializer writes
 * it again to another topic: a line of output with the text of the record, a tab, and its bytes in base64.
 */
public class AvroTravel {
  public static void main(String[] arguments) throws Exception {
    Map<String, Object> settings = Map.of("schema.registry.url", arguments[0], "auto.register.schemas", true);
    try (KafkaAvroDeserializer deserializer = new KafkaAvroDeserializer();
        KafkaAvroSerializer serializer = new KafkaAvroSerializer()) {
      deserializer.configure(settings, false);
      serializer.configure(settings, false);
      BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = input.readLine(); line != null; line = input.readLine()) {
        Object read = deserializer.deserialize(arguments[1], Base64.getDecoder().decode(line));
        byte[] written = serializer.serialize(arguments[2], read);
        System.out.println(read + "\t" + Base64.getEncoder().encodeToString(written));
      }
    }
  }
}
