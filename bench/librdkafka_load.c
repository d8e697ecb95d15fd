/* librdkafka at its cheapest: what a C application with nothing else to do would get from a server.
 *
 *   librdkafka_load produce BOOTSTRAP TOPIC PARTITIONS VALUE_BYTES RECORDS CODEC
 *   librdkafka_load consume BOOTSTRAP TOPIC PARTITIONS VALUE_BYTES RECORDS
 *   librdkafka_load latency BOOTSTRAP TOPIC PARTITIONS VALUE_BYTES RECORDS
 *   librdkafka_load transactions BOOTSTRAP TOPIC PARTITIONS VALUE_BYTES RECORDS
 *
 * Why not confluent-kafka, which is the same library under Python? A Python object per record costs the client more than the record
 * costs the server; on a machine with few cores the measurement would be one of the client. The wheel brings the library but no
 * headers, so the part of librdkafka's stable interface that is used is declared here.
 *
 * Each command prints one line of JSON. The clock starts when connections, metadata and the first record are through. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "value_text.h"

/* -- librdkafka, as rdkafka.h declares it --------------------------------------------------------------------------------------- */

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_topic_conf_s rd_kafka_topic_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_error_s rd_kafka_error_t;
typedef struct {
  int err;
  rd_kafka_topic_t *rkt;
  int32_t partition;
  void *payload;
  size_t len;
  void *key;
  size_t key_len;
  int64_t offset;
  void *_private;
} rd_kafka_message_t;
enum { RD_KAFKA_PRODUCER = 0, RD_KAFKA_CONSUMER = 1, RD_KAFKA_CONF_OK = 0, RD_KAFKA_MSG_F_COPY = 2, RD_KAFKA_MSG_F_BLOCK = 4 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *name, const char *value, char *error, size_t error_size);
void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *, void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
rd_kafka_t *rd_kafka_new(int type, rd_kafka_conf_t *, char *error, size_t error_size);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *name, rd_kafka_topic_conf_t *);
int rd_kafka_produce_batch(rd_kafka_topic_t *, int32_t partition, int flags, rd_kafka_message_t *, int count);
int rd_kafka_poll(rd_kafka_t *, int timeout_ms);
int rd_kafka_flush(rd_kafka_t *, int timeout_ms);
rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t partition, int64_t offset, rd_kafka_queue_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int timeout_ms, rd_kafka_message_t **, size_t count);
void rd_kafka_message_destroy(rd_kafka_message_t *);
const char *rd_kafka_err2str(int error);
/* NULL when all went well. */
rd_kafka_error_t *rd_kafka_init_transactions(rd_kafka_t *, int timeout_ms);
rd_kafka_error_t *rd_kafka_begin_transaction(rd_kafka_t *);
rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *, int timeout_ms);
const char *rd_kafka_error_string(const rd_kafka_error_t *);

/* ------------------------------------------------------------------------------------------------------------------------------- */

enum {
  DIFFERENT_VALUES = 4096,
  PRODUCE_AT_ONCE = 1000,     /* records handed over in one call, all to one partition */
  CONSUME_AT_ONCE = 10000,
  DELIVERY_MS_MAX = 60000,
};

struct options {
  const char *bootstrap, *topic, *codec;
  int partitions, value_bytes;
  long records;
};

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
  char error[512];
  if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) die("%s", error);
}

/* Properties of the command line, which come last and win: name=value. One is for this program: every value begins like one of
 * Confluent's serializers, with the id of a schema. */
static char **further_properties;
static const char schema_id_property[] = "value.schema.id=";

static void set_further(rd_kafka_conf_t *conf) {
  for (char **each = further_properties; each && *each; each++) {
    if (!strncmp(*each, schema_id_property, sizeof schema_id_property - 1)) continue;
    char *name = strdup(*each), *value = strchr(name, '=');
    if (!value) die("%s is not name=value", *each);
    *value++ = 0;
    set(conf, name, value);
    free(name);
  }
}

static rd_kafka_t *start_client(int type, rd_kafka_conf_t *conf) {
  char error[512];
  set_further(conf);
  rd_kafka_t *client = rd_kafka_new(type, conf, error, sizeof error);
  if (!client) die("%s", error);
  return client;
}

static rd_kafka_conf_t *new_conf(const struct options *options) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", options->bootstrap);
  return conf;
}

/* -- producing ------------------------------------------------------------------------------------------------------------------ */

static void end_at_failure(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
  (void)client, (void)opaque;
  if (message->err) die("a record was not delivered: %s", rd_kafka_err2str(message->err));
}

static rd_kafka_conf_t *new_producer_conf(const struct options *options, const char *linger_ms, const char *acks) {
  rd_kafka_conf_t *conf = new_conf(options);
  set(conf, "compression.codec", options->codec);
  set(conf, "linger.ms", linger_ms);
  set(conf, "acks", acks);
  set(conf, "socket.nagle.disable", "true");
  /* Only failures are reported: a report per record would be the client's work, not the server's. */
  set(conf, "delivery.report.only.error", "true");
  rd_kafka_conf_set_dr_msg_cb(conf, end_at_failure);
  return conf;
}

static rd_kafka_t *start_producer(const struct options *options, const char *linger_ms, const char *acks) {
  return start_client(RD_KAFKA_PRODUCER, new_producer_conf(options, linger_ms, acks));
}

static uint8_t *make_values(const struct options *options) {
  uint8_t *values = malloc((size_t)DIFFERENT_VALUES * options->value_bytes + 1);
  uint64_t random = 0x9e3779b97f4a7c15u;
  fill_with_text(values, (size_t)DIFFERENT_VALUES * options->value_bytes, &random);
  for (char **each = further_properties; each && *each; each++) {
    if (strncmp(*each, schema_id_property, sizeof schema_id_property - 1)) continue;
    uint32_t id = (uint32_t)atoi(*each + sizeof schema_id_property - 1);
    uint8_t stamp[] = {0, (uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};
    if (options->value_bytes < (int)sizeof stamp) die("the values are too small for the id of a schema");
    for (size_t i = 0; i < DIFFERENT_VALUES; i++) memcpy(values + i * (size_t)options->value_bytes, stamp, sizeof stamp);
  }
  return values;
}

static void produce_some(rd_kafka_topic_t *topic, int partition, const struct options *options, uint8_t *values, long first, int count) {
  rd_kafka_message_t messages[PRODUCE_AT_ONCE];
  memset(messages, 0, (size_t)count * sizeof *messages);
  for (int i = 0; i < count; i++) {
    messages[i].payload = values + (size_t)((first + i) % DIFFERENT_VALUES) * options->value_bytes;
    messages[i].len = (size_t)options->value_bytes;
  }
  /* A full queue blocks, which is how a client that is faster than its server should wait. */
  int queued = rd_kafka_produce_batch(topic, partition, RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK, messages, count);
  if (queued != count) die("%d of %d records were refused by the client", count - queued, count);
}

static void flush(rd_kafka_t *producer) {
  int error = rd_kafka_flush(producer, DELIVERY_MS_MAX);
  if (error) die("flush: %s", rd_kafka_err2str(error));
}

static void produce(const struct options *options) {
  rd_kafka_t *producer = start_producer(options, "5", "all");
  rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, options->topic, NULL);
  uint8_t *values = make_values(options);
  for (int partition = 0; partition < options->partitions; partition++) produce_some(topic, partition, options, values, 0, 1);
  flush(producer);
  double started = now_seconds();
  for (long done = 0; done < options->records; done += PRODUCE_AT_ONCE) {
    long left = options->records - done;
    int partition = (int)(done / PRODUCE_AT_ONCE % options->partitions);
    produce_some(topic, partition, options, values, done, left < PRODUCE_AT_ONCE ? (int)left : PRODUCE_AT_ONCE);
    rd_kafka_poll(producer, 0);
  }
  flush(producer);
  double seconds = now_seconds() - started;
  printf("{\"seconds\": %.6f, \"records\": %ld}\n", seconds, options->records);
}

/* -- transactions --------------------------------------------------------------------------------------------------------------- */

static void check(rd_kafka_error_t *error, const char *deed) {
  if (error) die("%s: %s", deed, rd_kafka_error_string(error));
}

static void one_transaction(rd_kafka_t *producer, rd_kafka_topic_t *topic, const struct options *options, uint8_t *values, long number) {
  check(rd_kafka_begin_transaction(producer), "begin");
  produce_some(topic, (int)(number % options->partitions), options, values, number, 1);
  check(rd_kafka_commit_transaction(producer, DELIVERY_MS_MAX), "commit");
}

/* One record in each. The transactional id is the topic's name, so that every run has its own. */
static void transactions(const struct options *options) {
  enum { FIRST_IGNORED = 20 };
  rd_kafka_conf_t *conf = new_producer_conf(options, "0", "all");
  set(conf, "transactional.id", options->topic);
  /* A commit flushes, and a flush that no report wakes looks only every 10 ms whether all is delivered: then that is measured. */
  set(conf, "delivery.report.only.error", "false");
  rd_kafka_t *producer = start_client(RD_KAFKA_PRODUCER, conf);
  check(rd_kafka_init_transactions(producer, DELIVERY_MS_MAX), "init");
  rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, options->topic, NULL);
  uint8_t *values = make_values(options);
  for (long i = 0; i < FIRST_IGNORED; i++) one_transaction(producer, topic, options, values, i);
  double started = now_seconds();
  for (long i = 0; i < options->records; i++) one_transaction(producer, topic, options, values, i);
  printf("{\"seconds\": %.6f, \"transactions\": %ld}\n", now_seconds() - started, options->records);
}

/* -- consuming ------------------------------------------------------------------------------------------------------------------ */

static rd_kafka_queue_t *start_consumer(const struct options *options, rd_kafka_conf_t *conf) {
  rd_kafka_t *consumer = start_client(RD_KAFKA_CONSUMER, conf);
  rd_kafka_topic_t *topic = rd_kafka_topic_new(consumer, options->topic, NULL);
  rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer);
  for (int partition = 0; partition < options->partitions; partition++) rd_kafka_consume_start_queue(topic, partition, 0, queue);
  return queue;
}

/* How many records came, at most `count`; waits until that many are there or 100 ms are over. */
static long consume_some(rd_kafka_queue_t *queue, size_t count, const struct options *options) {
  static rd_kafka_message_t *messages[CONSUME_AT_ONCE];
  ssize_t got = rd_kafka_consume_batch_queue(queue, 100, messages, count);
  for (ssize_t i = 0; i < got; i++) {
    if (messages[i]->err) die("consume: %s", rd_kafka_err2str(messages[i]->err));
    if (messages[i]->len != (size_t)options->value_bytes) die("a value of %zu bytes came back", messages[i]->len);
    rd_kafka_message_destroy(messages[i]);
  }
  return got > 0 ? (long)got : 0;
}

static void await_record(rd_kafka_queue_t *queue, const struct options *options) {
  double deadline = now_seconds() + DELIVERY_MS_MAX / 1000.0;
  while (!consume_some(queue, 1, options)) {
    if (now_seconds() > deadline) die("no record came");
  }
}

static void consume(const struct options *options) {
  rd_kafka_conf_t *conf = new_conf(options);
  /* With the defaults the client pauses for a second whenever 100,000 records wait in its queue: then its patience is measured. */
  set(conf, "queued.min.messages", "10000000");
  set(conf, "queued.max.messages.kbytes", "2000000");
  rd_kafka_queue_t *queue = start_consumer(options, conf);
  await_record(queue, options);
  double started = now_seconds(), deadline = started + DELIVERY_MS_MAX / 1000.0;
  long records = 0;
  while (records < options->records - 1) {
    long left = options->records - 1 - records;
    records += consume_some(queue, left < CONSUME_AT_ONCE ? (size_t)left : CONSUME_AT_ONCE, options);
    if (now_seconds() > deadline) die("only %ld of %ld records came", records + 1, options->records);
  }
  printf("{\"seconds\": %.6f, \"records\": %ld}\n", now_seconds() - started, records);
}

/* -- from one end to the other -------------------------------------------------------------------------------------------------- */

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double round_trip(rd_kafka_topic_t *topic, rd_kafka_queue_t *queue, const struct options *options, uint8_t *values, long number) {
  double started = now_seconds();
  produce_some(topic, (int)(number % options->partitions), options, values, number, 1);
  await_record(queue, options);
  return now_seconds() - started;
}

static void latency(const struct options *options) {
  enum { FIRST_IGNORED = 50 };
  rd_kafka_t *producer = start_producer(options, "0", "1");
  rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, options->topic, NULL);
  rd_kafka_conf_t *conf = new_conf(options);
  set(conf, "socket.nagle.disable", "true");
  rd_kafka_queue_t *queue = start_consumer(options, conf);
  uint8_t *values = make_values(options);
  double *seconds = malloc((size_t)options->records * sizeof *seconds);
  for (long i = 0; i < FIRST_IGNORED; i++) round_trip(topic, queue, options, values, i);
  for (long i = 0; i < options->records; i++) seconds[i] = round_trip(topic, queue, options, values, i);
  qsort(seconds, (size_t)options->records, sizeof *seconds, ascending);
  printf("{\"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f}\n", 1e6 * seconds[options->records / 2],
         1e6 * seconds[options->records * 90 / 100], 1e6 * seconds[options->records * 99 / 100], 1e6 * seconds[options->records * 999 / 1000]);
}

int main(int count, char **arguments) {
  if (count < 7) die("usage: librdkafka_load produce|consume|latency|transactions BOOTSTRAP TOPIC PARTITIONS VALUE_BYTES RECORDS [CODEC [NAME=VALUE ...]]");
  struct options options = {
      .bootstrap = arguments[2], .topic = arguments[3], .partitions = atoi(arguments[4]), .value_bytes = atoi(arguments[5]),
      .records = atol(arguments[6]), .codec = count > 7 ? arguments[7] : "none",
  };
  if (count > 8) further_properties = arguments + 8;
  if (options.partitions < 1 || options.value_bytes < 1 || options.records < 2) die("counts must be positive");
  if (!strcmp(arguments[1], "produce")) produce(&options);
  else if (!strcmp(arguments[1], "consume")) consume(&options);
  else if (!strcmp(arguments[1], "latency")) latency(&options);
  else if (!strcmp(arguments[1], "transactions")) transactions(&options);
  else die("unknown command %s", arguments[1]);
  /* Everything was delivered and counted; closing the clients in order would only take time. */
  fflush(stdout);
  _Exit(0);
}
