// Opens a metadata snapshot the way kafka-metadata-shell does, with Kafka's SnapshotFileReader and MetadataLoader's classes, and prints what
// it understood as one line of JSON.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.util.SnapshotFileReader;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.BatchReader;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.snapshot.SnapshotReader;

public class SnapshotShell {
    static class Listener implements RaftClient.Listener<ApiMessageAndVersion> {
        final MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        int records;

        @Override
        public void handleCommit(BatchReader<ApiMessageAndVersion> reader) {
            try (reader) {
                while (reader.hasNext()) {
                    Batch<ApiMessageAndVersion> batch = reader.next();
                    for (ApiMessageAndVersion record : batch.records()) {
                        delta.replay(record.message());
                        records++;
                    }
                }
            }
        }

        @Override
        public void handleLoadSnapshot(SnapshotReader<ApiMessageAndVersion> reader) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void handleLoadBootstrap(SnapshotReader<ApiMessageAndVersion> reader) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void handleLeaderChange(LeaderAndEpoch leader) { }
    }

    public static void main(String[] arguments) throws Exception {
        Listener listener = new Listener();
        SnapshotFileReader reader = new SnapshotFileReader(arguments[0], listener);
        reader.startup();
        // Known only once the file is read to its end; the test's own patience bounds this loop.
        while (reader.highWaterMark().isEmpty()) Thread.sleep(5);
        reader.close();
        MetadataImage image = listener.delta.apply(MetadataProvenance.EMPTY);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("records", listener.records);
        Map<String, Integer> topics = new TreeMap<>();
        image.topics().topicsByName().forEach((name, topic) -> topics.put(name, topic.partitions().size()));
        seen.put("topics", topics);
        Map<String, Map<String, String>> configs = new TreeMap<>();
        image.configs().resourceData().forEach((resource, data) -> configs.put(resource.type() + " " + resource.name(), new TreeMap<>(data.toMap())));
        seen.put("configs", configs);
        seen.put("brokers", image.cluster().brokers().keySet());
        seen.put("controllers", image.cluster().controllers().keySet());
        seen.put("metadata.version", image.features().metadataVersionOrThrow().toString());
        seen.put("next producer id", image.producerIds().nextProducerId());
        System.out.println(new ObjectMapper().writeValueAsString(seen));
    }
}
