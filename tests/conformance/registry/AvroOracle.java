import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/**
 * Java's Avro as an oracle. Each line of input is three texts in base64 with spaces between: the writer's schema,
 * the reader's schema, and data of the writer's. Each line of output is the data as the reader's schema writes it
 * again, in base64, or a minus and the reason why it cannot be read.
 */
public class AvroOracle {
  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] parts = line.split(" ", -1);
      System.out.println(answer(text(parts[0]), text(parts[1]), Base64.getDecoder().decode(parts[2])));
    }
  }

  private static String text(String encoded) {
    return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
  }

  private static String answer(String writerText, String readerText, byte[] data) {
    try {
      Schema writer = new Schema.Parser().parse(writerText);
      Schema reader = new Schema.Parser().parse(readerText);
      BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(data, null);
      Object value = new GenericDatumReader<>(writer, reader).read(null, decoder);
      if (!decoder.isEnd()) {
        return "- bytes follow the data";
      }
      ByteArrayOutputStream written = new ByteArrayOutputStream();
      BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(written, null);
      new GenericDatumWriter<>(reader).write(value, encoder);
      encoder.flush();
      return "+ " + Base64.getEncoder().encodeToString(written.toByteArray());
    } catch (Throwable thrown) {
      return "- " + thrown.toString().replace("\n", " ");
    }
  }
}
