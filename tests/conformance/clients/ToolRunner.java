// Runs Kafka's own command-line tools one after the other in one JVM, because each start of a JVM costs a second.
//
// A line in, a line out, both JSON: {"main": class, "arguments": [...], "stdin": text or null} gives
// {"status": exit code, "out": what it printed, "err": what it complained}. Kafka's tools end with Exit.exit(), which is a
// procedure that can be replaced; nothing else about them is changed.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

public class ToolRunner {
    static class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    // The first status counts: some tools catch what leaving throws here, and leave again.
    static Integer exited;

    static void leave(int status, String message) {
        if (exited == null) {
            exited = status;
            if (message != null) System.err.println(message);
        }
        throw new Exited();
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream answers = System.out;
        PrintStream complaints = System.err;
        InputStream questions = System.in;
        BufferedReader lines = new BufferedReader(new InputStreamReader(questions, StandardCharsets.UTF_8));
        Exit.setExitProcedure(ToolRunner::leave);
        Exit.setHaltProcedure(ToolRunner::leave);
        // Tools add hooks that close their clients; in this JVM they would pile up until its end.
        Exit.setShutdownHookAdder((name, runnable) -> { });
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode question = json.readTree(line);
            List<String> given = new ArrayList<>();
            question.get("arguments").forEach(each -> given.add(each.asText()));
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            String stdin = question.get("stdin").isNull() ? "" : question.get("stdin").asText();
            System.setIn(new ByteArrayInputStream(stdin.getBytes(StandardCharsets.UTF_8)));
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            exited = null;
            int status = 0;
            try {
                Class.forName(question.get("main").asText()).getMethod("main", String[].class)
                    .invoke(null, (Object) given.toArray(new String[0]));
            } catch (InvocationTargetException thrown) {
                if (exited == null) {
                    status = -1;
                    thrown.getCause().printStackTrace(System.err);
                }
            } finally {
                System.setOut(answers);
                System.setErr(complaints);
            }
            ObjectNode answer = json.createObjectNode();
            answer.put("status", exited != null ? exited : status);
            answer.put("out", out.toString(StandardCharsets.UTF_8));
            answer.put("err", err.toString(StandardCharsets.UTF_8));
            answers.println(json.writeValueAsString(answer));
            answers.flush();
        }
    }
}
