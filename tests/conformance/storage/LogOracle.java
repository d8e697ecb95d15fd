import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * Kafka's own log, asked over stdin: one question a line, one answer a line, both JSON.
 *
 * <pre>
 * {"do": "open", "directory": D, "config": {...}, "clean": B, "recovery_point": N, "log_start_offset": N, "now_ms": N}
 * {"do": "append", "batch": HEX, "epoch": N, "origin": "CLIENT" | "COORDINATOR", "now_ms": N}
 *                             answers the offsets and the append time, or the error code and the errors of single records
 * {"do": "roll"}  {"do": "flush"}  {"do": "truncate", "offset": N}  {"do": "close"}
 * {"do": "state"}             answers offsets, segments and records
 * {"do": "dump", "arguments": [...]}   answers what kafka-dump-log prints, complaints and all
 * </pre>
 *
 * Work that Kafka would do in the background at once is done on the spot; what it would do later is not done.
 */
public class LogOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream ANSWERS = System.out;
    private static long nowMs;
    private static UnifiedLog log;

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = JSON.readTree(line);
            if (question.has("now_ms"))
                nowMs = question.get("now_ms").asLong();
            ANSWERS.print(JSON.writeValueAsString(answer(question)) + "\n");
            ANSWERS.flush();
        }
    }

    private static ObjectNode answer(JsonNode question) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        switch (question.get("do").asText()) {
            case "open" -> open(question);
            case "append" -> append(question, answer);
            case "roll" -> log.roll();
            case "flush" -> log.flush(true);
            case "truncate" -> log.truncateTo(question.get("offset").asLong());
            case "close" -> log.close();
            case "state" -> state(answer);
            case "dump" -> answer.put("text", dump(question.get("arguments")));
            default -> throw new IllegalArgumentException(question.toString());
        }
        return answer;
    }

    private static void open(JsonNode question) throws Exception {
        Map<String, String> config = new HashMap<>();
        for (Map.Entry<String, JsonNode> entry : question.get("config").properties())
            config.put(entry.getKey(), entry.getValue().asText());
        log = UnifiedLog.create(
            new File(question.get("directory").asText()),
            new LogConfig(config),
            question.get("log_start_offset").asLong(),
            question.get("recovery_point").asLong(),
            new AtOnce(),
            new BrokerTopicStats(),
            new GivenTime(),
            300_000,
            new ProducerStateManagerConfig(86_400_000, false),
            600_000,
            new LogDirFailureChannel(1),
            question.get("clean").asBoolean(),
            Optional.empty());
    }

    private static void append(JsonNode question, ObjectNode answer) {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(question.get("batch").asText())));
        AppendOrigin origin = AppendOrigin.valueOf(question.get("origin").asText());
        try {
            if (origin == AppendOrigin.CLIENT)
                ProduceRequest.validateRecords((short) 12, records);
            LogAppendInfo info = log.appendAsLeader(
                records, question.get("epoch").asInt(), origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 1);
            answer.put("base_offset", info.firstOffset());
            answer.put("last_offset", info.lastOffset());
            answer.put("append_time_ms", info.logAppendTime());
            answer.put("code", 0);
        } catch (RecordValidationException wrong) {
            answer.put("code", Errors.forException(wrong.invalidException()).code());
            ArrayNode indexes = answer.putArray("record_errors");
            wrong.recordErrors().forEach(error -> indexes.add(error.batchIndex));
        } catch (Throwable wrong) {
            answer.put("code", Errors.forException(wrong).code());
            answer.put("said", String.valueOf(wrong));
        }
    }

    private static void state(ObjectNode answer) throws Exception {
        answer.put("log_start_offset", log.logStartOffset());
        answer.put("log_end_offset", log.logEndOffset());
        ArrayNode records = answer.putArray("records");
        ArrayNode segments = answer.putArray("segments");
        for (LogSegment segment : log.logSegments()) {
            segments.add(segment.baseOffset());
            for (RecordBatch batch : segment.log().batches()) {
                batch.ensureValid();
                for (Record record : batch) {
                    ArrayNode row = records.addArray();
                    row.add(record.offset()).add(record.timestamp()).add(hex(record.key())).add(hex(record.value()));
                }
            }
        }
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null)
            return null;
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static String dump(JsonNode arguments) throws Exception {
        String[] words = new String[arguments.size()];
        for (int i = 0; i < words.length; i++)
            words[i] = arguments.get(i).asText();
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream complaints = System.err;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(System.out);
        try {
            DumpLogSegments.main(words);
        } catch (Exception wrong) {
            printed.writeBytes(String.valueOf(wrong).getBytes(StandardCharsets.UTF_8));
        } finally {
            System.setOut(ANSWERS);
            System.setErr(complaints);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }

    private static class GivenTime implements Time {
        @Override
        public long milliseconds() {
            return nowMs;
        }

        @Override
        public long nanoseconds() {
            return nowMs * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        }
    }

    private static class AtOnce implements Scheduler {
        // Callers want something they can cancel.
        private static final ScheduledExecutorService SPARE = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });

        @Override
        public void startup() {
        }

        @Override
        public void shutdown() {
        }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (delayMs <= 0 && periodMs < 0)
                task.run();
            return SPARE.schedule(() -> { }, 0, TimeUnit.MILLISECONDS);
        }

        @Override
        public void resizeThreadPool(int newSize) {
        }
    }
}
