import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Kafka's generated messages, asked over stdin: one question a line, one answer a line.
 *
 * <pre>
 * encode  MESSAGE VERSION JSON   answers the bytes in hexadecimal
 * decode  MESSAGE VERSION HEX    answers JSON, with records as their size
 * headers API_KEY VERSION        answers the versions of the request header and the response header
 * </pre>
 *
 * A question that Kafka refuses is answered by a line that begins with "refused"; a message of no bytes by an empty line.
 */
public class Oracle {
    private static final List<String> PACKAGES = List.of(
        "org.apache.kafka.common.message",
        "org.apache.kafka.common.metadata",
        "org.apache.kafka.coordinator.group.generated",
        "org.apache.kafka.coordinator.transaction.generated",
        "org.apache.kafka.coordinator.share.generated",
        "org.apache.kafka.server.log.remote.metadata.storage.generated");
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Class<?>> CLASSES = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.print(answer(line.split(" ", 4)) + "\n");
            answers.flush();
        }
    }

    private static String answer(String[] words) {
        try {
            short version = Short.parseShort(words[2]);
            return switch (words[0]) {
                case "encode" -> encode(words[1], version, words[3]);
                case "decode" -> decode(words[1], version, words[3]);
                case "headers" -> headers(Short.parseShort(words[1]), version);
                default -> throw new IllegalArgumentException("unknown question " + words[0]);
            };
        } catch (InvocationTargetException wrong) {
            return refused(wrong.getCause());
        } catch (Exception wrong) {
            return refused(wrong);
        }
    }

    private static String refused(Throwable why) {
        return "refused " + why.toString().replace('\n', ' ');
    }

    private static String encode(String name, short version, String json) throws Exception {
        Method read = converter(name).getMethod("read", JsonNode.class, short.class);
        Message message = (Message) read.invoke(null, JSON.readTree(json), version);
        ByteBuffer written = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[written.remaining()];
        written.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static String decode(String name, short version, String hex) throws Exception {
        Class<?> type = message(name);
        Message message = (Message) type.getConstructor().newInstance();
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
        message.read(new ByteBufferAccessor(bytes), version);
        if (bytes.hasRemaining()) {
            return "refused: " + bytes.remaining() + " bytes are left over";
        }
        Method write = converter(name).getMethod("write", type, short.class, boolean.class);
        return JSON.writeValueAsString(write.invoke(null, message, version, false));
    }

    private static String headers(short key, short version) {
        ApiMessageType api = ApiMessageType.fromApiKey(key);
        return api.requestHeaderVersion(version) + " " + api.responseHeaderVersion(version);
    }

    private static Class<?> converter(String name) throws ClassNotFoundException {
        return Class.forName(message(name).getName() + "JsonConverter");
    }

    /** Requests, responses and headers are called FooData in Java, everything else as in its schema. */
    private static Class<?> message(String name) throws ClassNotFoundException {
        Class<?> known = CLASSES.get(name);
        if (known != null) {
            return known;
        }
        for (String each : PACKAGES) {
            for (String suffix : List.of("", "Data")) {
                try {
                    Class<?> found = Class.forName(each + "." + name + suffix);
                    CLASSES.put(name, found);
                    return found;
                } catch (ClassNotFoundException elsewhere) {
                    continue;
                }
            }
        }
        throw new ClassNotFoundException(name);
    }
}
