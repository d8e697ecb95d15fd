// The Java client's consumers in groups and its admin client's deeds on groups, against one broker, as a list of claims.
//
// Each claim prints a line of JSON when it was tried: {"claim": name, "failure": null or what went wrong}. Claims have topics and
// groups of their own and are tried side by side, since most of their time is spent waiting for heartbeats.

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

public class JavaGroups {
    interface Claim {
        void hold() throws Exception;
    }

    interface Protocoled {
        void hold(String protocol) throws Exception;
    }

    static final int SIDE_BY_SIDE = 6;
    static final Duration A_MOMENT = Duration.ofMillis(30);
    static String bootstrap;
    static Admin admin;
    static final Map<String, Claim> claims = new LinkedHashMap<>();

    static void both(String name, Protocoled claim) {
        for (String protocol : List.of("classic", "consumer")) claims.put(name + ", " + protocol, () -> claim.hold(protocol));
    }

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        both("members share, come and go", JavaGroups::membersShare);
        both("a spare member idles and takes over", JavaGroups::spare);
        both("a static member returns to what it had", JavaGroups::staticMember);
        both("a static member is fenced by its twin", JavaGroups::twins);
        both("commits of every style", JavaGroups::commits);
        both("a topic that is made later matches a pattern", JavaGroups::patterns);
        both("places to begin", JavaGroups::places);
        both("a member that forgets to poll is out and comes back", JavaGroups::forgetful);
        both("groups are described and listed", JavaGroups::seen);
        both("offsets are altered and deleted, groups are deleted", JavaGroups::altered);
        claims.put("a pattern that the broker evaluates", JavaGroups::serverPatterns);
        claims.put("every assignor", JavaGroups::assignors);
        claims.put("cooperative members keep what they need not give up", JavaGroups::cooperative);
        claims.put("a group moves to the new protocol and back without losing its place", JavaGroups::migration);
        claims.put("members are removed by an operator", JavaGroups::removed);
        claims.put("groups that are not there", JavaGroups::absent);

        ExecutorService threads = Executors.newFixedThreadPool(SIDE_BY_SIDE);
        List<Future<?>> tried = new ArrayList<>();
        claims.forEach((name, claim) -> tried.add(threads.submit(() -> attempt(name, claim))));
        for (Future<?> each : tried) each.get();
        threads.shutdown();
        admin.close(Duration.ofSeconds(5));
    }

    static void attempt(String name, Claim claim) {
        ObjectNode line = new ObjectMapper().createObjectNode();
        line.put("claim", name);
        try {
            claim.hold();
            line.putNull("failure");
        } catch (Throwable wrong) {
            StringWriter trace = new StringWriter();
            wrong.printStackTrace(new PrintWriter(trace));
            line.put("failure", trace.toString());
        }
        synchronized (JavaGroups.class) {
            System.out.println(line);
        }
    }

    // -- tools of this file

    static void same(Object expected, Object actual) {
        if (!Objects.deepEquals(expected, actual)) throw new AssertionError("expected " + expected + " but found " + actual);
    }

    static void that(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static <T extends Throwable> T thrown(Class<T> kind, Claim what) {
        try {
            what.hold();
        } catch (Throwable wrong) {
            Throwable cause = wrong instanceof ExecutionException ? wrong.getCause() : wrong;
            if (kind.isInstance(cause)) return kind.cast(cause);
            throw new AssertionError("expected " + kind.getSimpleName(), wrong);
        }
        throw new AssertionError("expected " + kind.getSimpleName() + ", but nothing was thrown");
    }

    static String topic(String name, int partitions) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        return name;
    }

    static void produce(String topic, int partitions, int count) throws Exception {
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap), new StringSerializer(), new StringSerializer())) {
            for (int each = 0; each < count; each++) producer.send(new ProducerRecord<>(topic, each % partitions, null, "" + each)).get();
        }
    }

    static class Member extends KafkaConsumer<String, String> implements ConsumerRebalanceListener {
        final List<String> read = new ArrayList<>();
        final Set<TopicPartition> lost = new HashSet<>();
        int assignments = 0;

        Member(String group, String protocol, String... settings) {
            super(config(group, protocol, settings), new StringDeserializer(), new StringDeserializer());
        }

        static Properties config(String group, String protocol, String... settings) {
            Properties config = new Properties();
            config.put("bootstrap.servers", bootstrap);
            config.put("group.id", group);
            config.put("group.protocol", protocol);
            config.put("enable.auto.commit", "false");
            config.put("auto.offset.reset", "earliest");
            if (protocol.equals("classic")) {
                config.put("session.timeout.ms", "20000");
                config.put("heartbeat.interval.ms", "100");
            }
            for (int each = 0; each < settings.length; each += 2) config.put(settings[each], settings[each + 1]);
            return config;
        }

        Member reads(String... topics) {
            subscribe(List.of(topics), this);
            return this;
        }

        void once() {
            poll(A_MOMENT).forEach(record -> read.add(record.value()));
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            assignments++;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            lost.addAll(partitions);
        }

        int has() {
            return assignment().size();
        }
    }

    /** Polls all until it holds. */
    static void until(String what, List<Member> members, BooleanSupplier holds) {
        long deadline = System.currentTimeMillis() + 60_000;
        while (true) {
            for (Member member : members) member.once();
            if (holds.getAsBoolean()) return;
            that(System.currentTimeMillis() < deadline, what + ": " + members.stream().map(each -> each.assignment() + " " + each.read).toList());
        }
    }

    static void share(List<Member> members, int partitions) {
        until("shared", members, () -> {
            Set<TopicPartition> all = new HashSet<>();
            int sum = 0;
            for (Member member : members) {
                all.addAll(member.assignment());
                sum += member.has();
                if (member.has() < partitions / members.size()) return false;
            }
            return sum == partitions && all.size() == partitions;
        });
    }

    static void close(Member... members) {
        for (Member member : members) member.close(CloseOptions.timeout(Duration.ofSeconds(20)));
    }

    static long committed(String group, String topic, int partition) throws Exception {
        OffsetAndMetadata found =
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(new TopicPartition(topic, partition));
        return found == null ? -1 : found.offset();
    }

    // -- members

    static void membersShare(String protocol) throws Exception {
        String topic = topic("share-" + protocol, 6);
        String group = "share-" + protocol;
        produce(topic, 6, 60);
        Member a = new Member(group, protocol).reads(topic);
        share(List.of(a), 6);
        Member b = new Member(group, protocol).reads(topic);
        share(List.of(a, b), 6);
        Member c = new Member(group, protocol).reads(topic);
        share(List.of(a, b, c), 6);
        close(b);
        share(List.of(a, c), 6);
        a.unsubscribe();
        share(List.of(c), 6);
        until("all were read", List.of(c), () -> {
            Set<String> read = new HashSet<>(a.read);
            read.addAll(b.read);
            read.addAll(c.read);
            return read.size() == 60;
        });
        close(a, c);
    }

    static void spare(String protocol) throws Exception {
        String topic = topic("spare-" + protocol, 1);
        Member a = new Member("spare-" + protocol, protocol).reads(topic);
        share(List.of(a), 1);
        Member b = new Member("spare-" + protocol, protocol).reads(topic);
        until("the spare one is in", List.of(a, b), () -> !b.groupMetadata().memberId().isEmpty() && a.has() + b.has() == 1
            && members("spare-" + protocol) == 2);
        Member owner = a.has() == 1 ? a : b;
        Member spare = owner == a ? b : a;
        close(owner);
        share(List.of(spare), 1);
        produce(topic, 1, 3);
        until("it reads on", List.of(spare), () -> spare.read.size() >= 3);
        close(spare);
    }

    static int members(String group) {
        try {
            return admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().size();
        } catch (Exception wrong) {
            throw new AssertionError(wrong);
        }
    }

    static void staticMember(String protocol) throws Exception {
        String topic = topic("static-" + protocol, 4);
        String group = "static-" + protocol;
        Member a = new Member(group, protocol, "group.instance.id", "one").reads(topic);
        Member b = new Member(group, protocol, "group.instance.id", "two").reads(topic);
        share(List.of(a, b), 4);
        Set<TopicPartition> had = Set.copyOf(a.assignment());
        int assignments = b.assignments;
        close(a);
        same(2, members(group));
        Member again = new Member(group, protocol, "group.instance.id", "one").reads(topic);
        until("it has what it had", List.of(again, b), () -> again.assignment().equals(had));
        same(assignments, b.assignments);
        same(2, members(group));
        again.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        share(List.of(b), 4);
        b.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        same(0, members(group));
    }

    static void twins(String protocol) throws Exception {
        String topic = topic("twins-" + protocol, 2);
        String group = "twins-" + protocol;
        Member a = new Member(group, protocol, "group.instance.id", "one").reads(topic);
        share(List.of(a), 2);
        Member twin = new Member(group, protocol, "group.instance.id", "one").reads(topic);
        if (protocol.equals("consumer")) {
            // The new protocol protects who is there (KIP-848).
            thrown(UnreleasedInstanceIdException.class, () -> until("the twin", List.of(twin), () -> false));
            share(List.of(a), 2);
        } else {
            share(List.of(twin), 2);
            thrown(FencedInstanceIdException.class, () -> until("the first", List.of(a), () -> false));
        }
        close(a, twin);
    }

    static void commits(String protocol) throws Exception {
        String topic = topic("commits-" + protocol, 2);
        String group = "commits-" + protocol;
        produce(topic, 2, 20);
        TopicPartition zero = new TopicPartition(topic, 0);
        TopicPartition one = new TopicPartition(topic, 1);
        Member a = new Member(group, protocol).reads(topic);
        until("all", List.of(a), () -> a.read.size() == 20);
        a.commitSync();
        same(10L, committed(group, topic, 0));
        a.commitSync(Map.of(zero, new OffsetAndMetadata(3, Optional.of(0), "words")));
        OffsetAndMetadata found = a.committed(Set.of(zero, one)).get(zero);
        same("words", found.metadata());
        same(3L, found.offset());
        CompletableFuture<Exception> done = new CompletableFuture<>();
        a.commitAsync(Map.of(one, new OffsetAndMetadata(4)), (offsets, wrong) -> done.complete(wrong));
        until("async", List.of(a), done::isDone);
        same(null, done.get());
        same(4L, committed(group, topic, 1));
        thrown(KafkaException.class, () -> a.commitSync(Map.of(zero, new OffsetAndMetadata(3, "x".repeat(5000)))));
        a.seek(zero, 7);
        until("read again", List.of(a), () -> a.read.size() == 23);
        a.commitSync();
        same(10L, committed(group, topic, 0));
        close(a);
        // A commit on leaving, and one of a consumer that has no group to manage it.
        Member b = new Member(group + "-auto", protocol, "enable.auto.commit", "true", "auto.commit.interval.ms", "100000").reads(topic);
        until("all", List.of(b), () -> b.read.size() == 20);
        close(b);
        same(10L, committed(group + "-auto", topic, 1));
        Member c = new Member(group + "-alone", protocol);
        c.assign(List.of(zero));
        c.commitSync(Map.of(zero, new OffsetAndMetadata(5)));
        same(5L, committed(group + "-alone", topic, 0));
        close(c);
    }

    static void patterns(String protocol) throws Exception {
        topic("pattern-" + protocol + "-a", 1);
        Member a = new Member("pattern-" + protocol, protocol, "metadata.max.age.ms", "300");
        a.subscribe(Pattern.compile("pattern-" + protocol + "-.*"), a);
        share(List.of(a), 1);
        topic("pattern-" + protocol + "-b", 2);
        share(List.of(a), 3);
        close(a);
    }

    static void places(String protocol) throws Exception {
        String topic = topic("places-" + protocol, 1);
        produce(topic, 1, 5);
        Member latest = new Member("places-latest-" + protocol, protocol, "auto.offset.reset", "latest").reads(topic);
        share(List.of(latest), 1);
        same(5L, latest.position(new TopicPartition(topic, 0)));
        Member recent = new Member("places-recent-" + protocol, protocol, "auto.offset.reset", "by_duration:PT1H").reads(topic);
        until("an hour", List.of(recent), () -> recent.read.size() == 5);
        Member none = new Member("places-none-" + protocol, protocol, "auto.offset.reset", "none").reads(topic);
        thrown(NoOffsetForPartitionException.class, () -> until("none", List.of(none), () -> false));
        produce(topic, 1, 2);
        until("new ones", List.of(latest), () -> latest.read.equals(List.of("0", "1")));
        close(latest, recent, none);
    }

    static void forgetful(String protocol) throws Exception {
        String topic = topic("forgetful-" + protocol, 2);
        String group = "forgetful-" + protocol;
        String[] impatient = {"max.poll.interval.ms", "1000"};
        if (protocol.equals("classic")) impatient = new String[] {"max.poll.interval.ms", "1000", "session.timeout.ms", "6000"};
        Member a = new Member(group, protocol, impatient).reads(topic);
        Member b = new Member(group, protocol).reads(topic);
        share(List.of(a, b), 2);
        share(List.of(b), 2);
        thrown(CommitFailedException.class, () -> a.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1))));
        share(List.of(a, b), 2);
        close(a, b);
    }

    static void serverPatterns() throws Exception {
        topic("re2-a", 1);
        Member a = new Member("re2", "consumer");
        a.subscribe(new SubscriptionPattern("re2-[ab]"), a);
        share(List.of(a), 1);
        topic("re2-b", 2);
        topic("re2-c", 2);
        share(List.of(a), 3);
        MemberDescription member = admin.describeConsumerGroups(List.of("re2")).all().get().get("re2").members().iterator().next();
        same(3, member.assignment().topicPartitions().size());
        Member wrong = new Member("re2", "consumer");
        wrong.subscribe(new SubscriptionPattern("("));
        thrown(InvalidRegularExpression.class, () -> until("wrong", List.of(wrong), () -> false));
        close(a, wrong);
    }

    static void assignors() throws Exception {
        for (String assignor : List.of("Range", "RoundRobin", "Sticky", "CooperativeSticky")) {
            String topic = topic("assignor-" + assignor, 4);
            String[] settings = {"partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor + "Assignor"};
            Member a = new Member(topic, "classic", settings).reads(topic);
            Member b = new Member(topic, "classic", settings).reads(topic);
            share(List.of(a, b), 4);
            same(settings[1].contains("Cooperative") ? "cooperative-sticky" : assignor.toLowerCase(), described(topic).partitionAssignor());
            close(a, b);
        }
        for (String assignor : List.of("uniform", "range")) {
            String topic = topic("remote-assignor-" + assignor, 4);
            Member a = new Member(topic, "consumer", "group.remote.assignor", assignor).reads(topic);
            Member b = new Member(topic, "consumer", "group.remote.assignor", assignor).reads(topic);
            share(List.of(a, b), 4);
            same(assignor, described(topic).partitionAssignor());
            close(a, b);
        }
        Member wrong = new Member("remote-assignor-wrong", "consumer", "group.remote.assignor", "nonsense").reads("remote-assignor-range");
        thrown(UnsupportedAssignorException.class, () -> until("wrong", List.of(wrong), () -> false));
        close(wrong);
    }

    static void cooperative() throws Exception {
        String topic = topic("cooperative", 4);
        String[] settings = {"partition.assignment.strategy", CooperativeStickyAssignor.class.getName()};
        Member a = new Member("cooperative", "classic", settings).reads(topic);
        share(List.of(a), 4);
        Member b = new Member("cooperative", "classic", settings).reads(topic);
        share(List.of(a, b), 4);
        same(b.assignment(), a.lost);
        Set<TopicPartition> kept = Set.copyOf(a.assignment());
        close(b);
        share(List.of(a), 4);
        that(a.assignment().containsAll(kept) && a.lost.equals(Set.copyOf(a.lost)) && a.lost.size() == 2, "it gave up " + a.lost);
        close(a);
    }

    static void migration() throws Exception {
        String topic = topic("migration", 4);
        Member a = new Member("migration", "classic").reads(topic);
        Member b = new Member("migration", "classic").reads(topic);
        share(List.of(a, b), 4);
        produce(topic, 4, 4);
        until("read", List.of(a, b), () -> a.read.size() + b.read.size() == 4);
        a.commitSync();
        b.commitSync();
        close(b);
        Member c = new Member("migration", "consumer").reads(topic);
        share(List.of(a, c), 4);
        same(GroupType.CONSUMER, described("migration").type());
        close(a);
        Member d = new Member("migration", "consumer").reads(topic);
        share(List.of(c, d), 4);
        produce(topic, 4, 4);
        until("read", List.of(c, d), () -> c.read.size() + d.read.size() == 4);
        c.commitSync();
        d.commitSync();
        for (int partition = 0; partition < 4; partition++) same(2L, committed("migration", topic, partition));
        // And back.
        close(c);
        Member e = new Member("migration", "classic").reads(topic);
        share(List.of(d, e), 4);
        close(d);
        share(List.of(e), 4);
        same(GroupType.CLASSIC, described("migration").type());
        produce(topic, 4, 4);
        until("read", List.of(e), () -> e.read.size() == 4);
        e.commitSync();
        for (int partition = 0; partition < 4; partition++) same(3L, committed("migration", topic, partition));
        close(e);
    }

    // -- what operators see and do

    static ConsumerGroupDescription described(String group) throws Exception {
        return admin.describeConsumerGroups(List.of(group)).all().get().get(group);
    }

    static void seen(String protocol) throws Exception {
        String topic = topic("described-" + protocol, 4);
        String group = "described-" + protocol;
        Member a = new Member(group, protocol, "client.id", "first", "group.instance.id", "one").reads(topic);
        Member b = new Member(group, protocol, "client.id", "second").reads(topic);
        share(List.of(a, b), 4);
        until("stable", List.of(a, b), () -> {
            try {
                return described(group).groupState() == GroupState.STABLE;
            } catch (Exception wrong) {
                throw new AssertionError(wrong);
            }
        });
        GroupType type = protocol.equals("classic") ? GroupType.CLASSIC : GroupType.CONSUMER;
        ConsumerGroupDescription shown = described(group);
        same(type, shown.type());
        same(protocol.equals("classic") ? "range" : "uniform", shown.partitionAssignor());
        same(1, shown.coordinator().id());
        same(Set.of("first", "second"), shown.members().stream().map(MemberDescription::clientId).collect(Collectors.toSet()));
        same(Set.of("/127.0.0.1"), shown.members().stream().map(MemberDescription::host).collect(Collectors.toSet()));
        for (MemberDescription member : shown.members()) {
            Member its = member.clientId().equals("first") ? a : b;
            same(its.assignment(), member.assignment().topicPartitions());
            same(its.groupMetadata().memberId(), member.consumerId());
            same(its == a ? Optional.of("one") : Optional.empty(), member.groupInstanceId());
            if (type == GroupType.CONSUMER) {
                same(its.assignment(), member.targetAssignment().get().topicPartitions());
                same(Optional.of(false), member.upgraded().map(upgraded -> !upgraded));
            }
        }
        if (type == GroupType.CLASSIC) {
            ClassicGroupDescription classic = admin.describeClassicGroups(List.of(group)).all().get().get(group);
            same("consumer", classic.protocol());
            same("range", classic.protocolData());
            same(2, classic.members().size());
        } else {
            that(shown.groupEpoch().isPresent() && shown.groupEpoch().equals(shown.targetAssignmentEpoch()), "epochs");
        }
        same(Optional.of(type), listed(group, new ListGroupsOptions()).flatMap(GroupListing::type));
        same(Optional.of(GroupState.STABLE), listed(group, new ListGroupsOptions().withTypes(Set.of(type))).flatMap(GroupListing::groupState));
        same("consumer", listed(group, new ListGroupsOptions().inGroupStates(Set.of(GroupState.STABLE))).get().protocol());
        same(Optional.empty(), listed(group, new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY))));
        same(Optional.empty(), listed(group, new ListGroupsOptions().withTypes(Set.of(GroupType.SHARE))));
        close(b);
        a.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        same(GroupState.EMPTY, described(group).groupState());
    }

    static Optional<GroupListing> listed(String group, ListGroupsOptions options) throws Exception {
        return admin.listGroups(options).all().get().stream().filter(each -> each.groupId().equals(group)).findAny();
    }

    static void altered(String protocol) throws Exception {
        String topic = topic("altered-" + protocol, 2);
        String group = "altered-" + protocol;
        produce(topic, 2, 10);
        TopicPartition zero = new TopicPartition(topic, 0);
        TopicPartition one = new TopicPartition(topic, 1);
        Member a = new Member(group, protocol).reads(topic);
        until("all", List.of(a), () -> a.read.size() == 10);
        a.commitSync();
        thrown(UnknownMemberIdException.class, () -> admin.alterConsumerGroupOffsets(group, Map.of(zero, new OffsetAndMetadata(2))).all().get());
        thrown(GroupSubscribedToTopicException.class, () -> admin.deleteConsumerGroupOffsets(group, Set.of(zero)).partitionResult(zero).get());
        thrown(GroupNotEmptyException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
        close(a);
        admin.alterConsumerGroupOffsets(group, Map.of(zero, new OffsetAndMetadata(2, "by hand"), one, new OffsetAndMetadata(0))).all().get();
        same(2L, committed(group, topic, 0));
        admin.deleteConsumerGroupOffsets(group, Set.of(one)).all().get();
        same(-1L, committed(group, topic, 1));
        Member b = new Member(group, protocol).reads(topic);
        until("again", List.of(b), () -> b.read.size() == 8);
        close(b);
        admin.deleteConsumerGroups(List.of(group)).all().get();
        thrown(GroupIdNotFoundException.class, () -> described(group));
        same(-1L, committed(group, topic, 0));
        same(Optional.empty(), listed(group, new ListGroupsOptions()));
        thrown(GroupIdNotFoundException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
    }

    static void removed() throws Exception {
        String topic = topic("removed", 2);
        Member a = new Member("removed", "classic", "group.instance.id", "one").reads(topic);
        Member b = new Member("removed", "classic").reads(topic);
        share(List.of(a, b), 2);
        admin.removeMembersFromConsumerGroup("removed", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("one")))).all().get();
        thrown(KafkaException.class, () -> admin.removeMembersFromConsumerGroup(
            "removed", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("never")))).all().get());
        share(List.of(b), 2);
        admin.removeMembersFromConsumerGroup("removed", new RemoveMembersFromConsumerGroupOptions()).all().get();
        same(0, members("removed"));
        close(a, b);
    }

    static void absent() throws Exception {
        thrown(GroupIdNotFoundException.class, () -> described("never"));
        thrown(GroupIdNotFoundException.class, () -> admin.describeClassicGroups(List.of("never")).all().get());
        thrown(GroupIdNotFoundException.class, () -> admin.deleteConsumerGroups(List.of("never")).all().get());
        same(Map.of(), admin.listConsumerGroupOffsets("never").partitionsToOffsetAndMetadata().get());
        TopicPartition nowhere = new TopicPartition("nowhere", 0);
        thrown(GroupIdNotFoundException.class, () -> admin.deleteConsumerGroupOffsets("never", Set.of(nowhere)).all().get());
    }
}
