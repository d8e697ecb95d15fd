// Opens a metadata log as kafka-metadata-shell does: Kafka's SnapshotFileReader feeds Kafka's MetadataLoader, which publishes images. Prints what
// the last image has as one line of JSON.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.loader.MetadataLoader;
import org.apache.kafka.image.publisher.MetadataPublisher;
import org.apache.kafka.metadata.util.SnapshotFileReader;
import org.apache.kafka.server.fault.FaultHandler;

public class MetadataShell {
    static SnapshotFileReader reader;
    static volatile MetadataImage image = MetadataImage.EMPTY;

    static RuntimeException fault(String message, Throwable cause) {
        System.err.println(message + " " + cause);
        Runtime.getRuntime().halt(1);
        return new RuntimeException(message, cause);
    }

    public static void main(String[] arguments) throws Exception {
        FaultHandler handler = MetadataShell::fault;
        MetadataLoader loader = new MetadataLoader.Builder().setFaultHandler(handler).setNodeId(-1)
            .setHighWaterMarkAccessor(() -> reader == null ? OptionalLong.empty() : reader.highWaterMark()).build();
        reader = new SnapshotFileReader(arguments[0], loader);
        reader.startup();
        loader.installPublishers(List.of(new MetadataPublisher() {
            @Override
            public String name() {
                return "onlooker";
            }

            @Override
            public void onMetadataUpdate(MetadataDelta delta, MetadataImage newImage, LoaderManifest manifest) {
                image = newImage;
            }
        })).get(60, TimeUnit.SECONDS);
        while (reader.highWaterMark().isEmpty() || image.provenance().lastContainedOffset() + 1 < reader.highWaterMark().getAsLong()) Thread.sleep(5);
        Map<String, Object> seen = new TreeMap<>();
        Map<String, Map<Integer, String>> topics = new TreeMap<>();
        image.topics().topicsByName().forEach((name, topic) -> {
            Map<Integer, String> partitions = new TreeMap<>();
            topic.partitions().forEach((index, partition) -> partitions.put(index, partition.toString()));
            topics.put(name, partitions);
        });
        seen.put("topics", topics);
        seen.put("brokers", image.cluster().brokers().keySet());
        seen.put("controllers", image.cluster().controllers().keySet());
        seen.put("metadata.version", image.features().metadataVersionOrThrow().toString());
        System.out.println(new ObjectMapper().writeValueAsString(seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
