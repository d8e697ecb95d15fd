import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends good and bad records, and prints the outcome of each: an offset, or the exception and its message.
 *
 *   JavaProducer BOOTSTRAP TOPIC GOOD_VALUE_IN_HEX
 *
 * A line is "step: outcome | outcome ...". */
public class JavaProducer {
  static final byte[] BAD = "raw".getBytes();

  public static void main(String[] arguments) throws Exception {
    byte[] good = HexFormat.of().parseHex(arguments[2]);
    try (var producer = producer(arguments[0], null)) {
      report("good", send(producer, arguments[1], good, good));
      report("mixed", send(producer, arguments[1], good, BAD, good));
      report("bad", send(producer, arguments[1], BAD));
      report("good again", send(producer, arguments[1], good, good));
    }
    try (var producer = producer(arguments[0], "java-" + arguments[1])) {
      producer.initTransactions();
      producer.beginTransaction();
      report("good in a transaction", send(producer, arguments[1], good));
      report("bad in a transaction", send(producer, arguments[1], BAD));
      producer.abortTransaction();
      producer.beginTransaction();
      report("good in the next transaction", send(producer, arguments[1], good));
      producer.commitTransaction();
    }
  }

  static KafkaProducer<byte[], byte[]> producer(String bootstrap, String transactionalId) {
    var settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    settings.put("linger.ms", "200");
    if (transactionalId != null) settings.put("transactional.id", transactionalId);
    return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /** In one batch. */
  static List<Future<RecordMetadata>> send(KafkaProducer<byte[], byte[]> producer, String topic, byte[]... values) {
    var sent = new ArrayList<Future<RecordMetadata>>();
    for (byte[] value : values) sent.add(producer.send(new ProducerRecord<>(topic, value)));
    producer.flush();
    return sent;
  }

  static void report(String step, List<Future<RecordMetadata>> sent) throws InterruptedException {
    var outcomes = new ArrayList<String>();
    for (var each : sent) {
      try {
        outcomes.add(String.valueOf(each.get().offset()));
      } catch (ExecutionException failed) {
        outcomes.add(failed.getCause().getClass().getSimpleName() + ": " + failed.getCause().getMessage());
      }
    }
    System.out.println(step + ": " + String.join(" | ", outcomes));
  }
}
