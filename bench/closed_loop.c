/* Closed-loop load: some connections, exactly one request in flight on each. A request produces one record batch; or, with --group, it
 * commits the offset of one partition for that group, as a consumer does that assigned its partitions by hand; or, with --fetch, it
 * fetches the one batch at an offset, and the next request fetches the next offset, from 0 to below the number given.
 *
 *   closed_loop --port 9092 --topic t [--partitions 1] [--connections 1] [--seconds 2] [--records 1] [--value-bytes 100] [--acks -1]
 *   closed_loop --port 9092 --topic t --group g [--partitions 1] [--connections 1] [--seconds 2]
 *   closed_loop --port 9092 --topic t --fetch 1000 [--sessions 1] [--partitions 1] [--connections 1] [--seconds 2]
 *
 * Connection i is for partition i modulo --partitions, and the server at --port must be the group's coordinator. Prints one line of
 * JSON: requests and records per second, and the time from the first byte sent to the whole answer read as percentiles in
 * microseconds.
 *
 * It must cost as little as possible, since it shares the machine with the server it measures. So requests are encoded before the
 * clock starts: each connection has a few, different from each other, and sends them in turn; only the correlation id is
 * written anew, and in a fetch the offset and the epoch of its session. Every answer is checked (its correlation id, its error code), and any error ends the run: a server that refuses
 * quickly must not look fast.
 *
 * Produce version 9, OffsetCommit version 8 and Fetch version 12 are spoken: flexible like what clients send today, and known to every
 * server since Kafka 2.7. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "value_text.h"

enum {
  PREPARED_REQUESTS = 4,     /* per connection: enough that no two neighbours are alike */
  CONNECTIONS_MAX = 4096,    /* below the usual limit on open files */
  ANSWER_BYTES_MAX = 1024,   /* one topic name (249 at most) and one partition fit several times */
  PRIMING_SECONDS_MAX = 15,  /* a new topic has a leader within milliseconds; a server that is this late is broken */
  API_PRODUCE = 0,
  PRODUCE_VERSION = 9,
  API_FETCH = 1,
  FETCH_VERSION = 12,
  API_OFFSET_COMMIT = 8,
  OFFSET_COMMIT_VERSION = 8,
  CORRELATION_POSITION = 8,  /* after length, api key and version */
};

struct options {
  int port, partitions, connections, records, value_bytes, acks;
  int fetched_offsets;       /* 0: do not fetch */
  bool sessions;             /* fetch in a session (KIP-227), as the Java client does; librdkafka does without */
  double seconds;
  const char *topic, *group; /* no group and no fetched offsets: produce */
};

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* -- bytes in Kafka's encoding ------------------------------------------------------------------------------------------------- */

struct bytes {
  uint8_t *data;
  size_t length, capacity;
};

static uint8_t *grow(struct bytes *out, size_t size) {
  if (out->length + size > out->capacity) {
    out->capacity = (out->length + size) * 2;
    out->data = realloc(out->data, out->capacity);
    if (!out->data) die("out of memory");
  }
  uint8_t *target = out->data + out->length;
  out->length += size;
  return target;
}

static void store_big_endian(uint8_t *target, int64_t value, int size) {
  for (int i = 0; i < size; i++) target[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

static void put_int(struct bytes *out, int64_t value, int size) { store_big_endian(grow(out, size), value, size); }

static void put_bytes(struct bytes *out, const void *data, size_t size) { memcpy(grow(out, size), data, size); }

static void put_uvarint(struct bytes *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_int(out, (int64_t)(value | 0x80), 1);
  put_int(out, (int64_t)value, 1);
}

static void put_varint(struct bytes *out, int64_t value) { put_uvarint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63)); }

static void put_no_tagged_fields(struct bytes *out) { put_uvarint(out, 0); }

/* Compact lengths are one more than they are: 0 stands for null. */
static void put_compact_string(struct bytes *out, const char *text) {
  put_uvarint(out, strlen(text) + 1);
  put_bytes(out, text, strlen(text));
}

static uint32_t crc32c(const uint8_t *data, size_t size) {
  static uint32_t table[256];
  if (!table[1]) {
    for (uint32_t byte = 0; byte < 256; byte++) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
      table[byte] = crc;
    }
  }
  uint32_t crc = ~0u;
  while (size--) crc = table[(crc ^ *data++) & 0xff] ^ (crc >> 8);
  return ~crc;
}

/* -- a produce request --------------------------------------------------------------------------------------------------------- */

static void put_record(struct bytes *out, int offset_delta, const uint8_t *value, int value_bytes) {
  struct bytes body = {0};
  put_int(&body, 0, 1);             /* attributes */
  put_varint(&body, 0);             /* timestamp delta */
  put_varint(&body, offset_delta);
  put_varint(&body, -1);            /* no key */
  put_varint(&body, value_bytes);
  put_bytes(&body, value, value_bytes);
  put_varint(&body, 0);             /* no headers */
  put_varint(out, (int64_t)body.length);
  put_bytes(out, body.data, body.length);
  free(body.data);
}

static struct bytes build_batch(const struct options *options, uint64_t *random) {
  struct bytes batch = {0};
  int64_t timestamp_ms = (int64_t)time(NULL) * 1000;
  put_int(&batch, 0, 8);                      /* base offset: the server's to give */
  size_t length_at = batch.length;
  put_int(&batch, 0, 4);
  size_t after_length = batch.length;
  put_int(&batch, -1, 4);                     /* leader epoch */
  put_int(&batch, 2, 1);                      /* magic */
  size_t crc_at = batch.length;
  put_int(&batch, 0, 4);
  size_t after_crc = batch.length;
  put_int(&batch, 0, 2);                      /* attributes: not compressed */
  put_int(&batch, options->records - 1, 4);   /* last offset delta */
  put_int(&batch, timestamp_ms, 8);
  put_int(&batch, timestamp_ms, 8);
  put_int(&batch, -1, 8);                     /* producer id, epoch and sequence: not idempotent */
  put_int(&batch, -1, 2);
  put_int(&batch, -1, 4);
  put_int(&batch, options->records, 4);
  uint8_t *value = malloc(options->value_bytes + 1);
  for (int record = 0; record < options->records; record++) {
    fill_with_text(value, options->value_bytes, random);
    put_record(&batch, record, value, options->value_bytes);
  }
  free(value);
  store_big_endian(batch.data + length_at, (int64_t)(batch.length - after_length), 4);
  store_big_endian(batch.data + crc_at, crc32c(batch.data + after_crc, batch.length - after_crc), 4);
  return batch;
}

static void put_produce(struct bytes *request, const struct options *options, int partition, uint64_t *random) {
  struct bytes batch = build_batch(options, random);
  put_uvarint(request, 0);                              /* no transactional id */
  put_int(request, options->acks, 2);
  put_int(request, 30000, 4);                           /* timeout */
  put_uvarint(request, 1 + 1);                          /* one topic */
  put_compact_string(request, options->topic);
  put_uvarint(request, 1 + 1);                          /* one partition */
  put_int(request, partition, 4);
  put_uvarint(request, batch.length + 1);
  put_bytes(request, batch.data, batch.length);
  free(batch.data);
}

/* -- an offset commit ------------------------------------------------------------------------------------------------------------ */

static void put_offset_commit(struct bytes *request, const struct options *options, int partition, int offset) {
  put_compact_string(request, options->group);
  put_int(request, -1, 4);                              /* no generation and no member: the group is a name for offsets */
  put_compact_string(request, "");
  put_uvarint(request, 0);                              /* no group instance id */
  put_uvarint(request, 1 + 1);                          /* one topic */
  put_compact_string(request, options->topic);
  put_uvarint(request, 1 + 1);                          /* one partition */
  put_int(request, partition, 4);
  put_int(request, offset, 8);
  put_int(request, 0, 4);                               /* leader epoch */
  put_compact_string(request, "");                      /* metadata */
}

/* -- a fetch ---------------------------------------------------------------------------------------------------------------------- */

enum {
  FETCH_SESSION_POSITION = 43,   /* after the header with its client id, and five numbers; the epoch follows the session's id */
  FETCH_OFFSET_FROM_END = 29,    /* offset, epoch, log start, size; then five empty fields */
};

static void put_fetch(struct bytes *request, const struct options *options, int partition) {
  put_int(request, -1, 4);                              /* no replica: a consumer */
  put_int(request, 500, 4);                             /* the longest wait: not needed, there is data */
  put_int(request, 1, 4);                               /* bytes, at least */
  put_int(request, 1 << 20, 4);                         /* bytes, at most */
  put_int(request, 0, 1);                               /* also uncommitted records */
  put_int(request, 0, 4);                               /* session and epoch: known when the first answer is here */
  put_int(request, options->sessions ? 0 : -1, 4);
  put_uvarint(request, 1 + 1);                          /* one topic */
  put_compact_string(request, options->topic);
  put_uvarint(request, 1 + 1);                          /* one partition */
  put_int(request, partition, 4);
  put_int(request, -1, 4);                              /* leader epoch: not known */
  put_int(request, 0, 8);                               /* offset, written before each sending */
  put_int(request, -1, 4);                              /* last fetched epoch */
  put_int(request, -1, 8);                              /* log start offset: a follower's */
  put_int(request, 1, 4);                               /* bytes of this partition: one batch, of any size */
  put_no_tagged_fields(request);
  put_no_tagged_fields(request);
  put_uvarint(request, 0 + 1);                          /* no forgotten topics */
  put_compact_string(request, "");                      /* no rack */
  put_no_tagged_fields(request);
}

/* -- a request of any kind -------------------------------------------------------------------------------------------------------- */

static struct bytes build_request(const struct options *options, int partition, int number, uint64_t *random) {
  static const char client_id[] = "closed-loop";
  struct bytes request = {0};
  put_int(&request, 0, 4);                              /* the frame's length, known at the end */
  put_int(&request, options->group ? API_OFFSET_COMMIT : options->fetched_offsets ? API_FETCH : API_PRODUCE, 2);
  put_int(&request, options->group ? OFFSET_COMMIT_VERSION : options->fetched_offsets ? FETCH_VERSION : PRODUCE_VERSION, 2);
  put_int(&request, 0, 4);                              /* correlation id, written before each sending */
  put_int(&request, sizeof client_id - 1, 2);
  put_bytes(&request, client_id, sizeof client_id - 1);
  put_no_tagged_fields(&request);
  if (options->fetched_offsets) {
    put_fetch(&request, options, partition);
  } else {
    if (options->group) put_offset_commit(&request, options, partition, number);
    else put_produce(&request, options, partition, random);
    for (int level = 0; level < 3; level++) put_no_tagged_fields(&request); /* partition, topic, request */
  }
  store_big_endian(request.data, (int64_t)(request.length - 4), 4);
  return request;
}

/* -- a connection: send, read, check, again ------------------------------------------------------------------------------------ */

struct connection {
  int socket;
  struct bytes requests[PREPARED_REQUESTS];
  int32_t correlation_id;      /* of the request in flight */
  size_t sent_bytes;           /* of the request in flight */
  int64_t sent_at_ns;
  uint8_t answer[ANSWER_BYTES_MAX];
  size_t answer_bytes;
  int32_t session_id, session_epoch, fetch_offset; /* of fetches */
};

static uint32_t load_u32(const uint8_t *data) {
  return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

static struct bytes *request_in_flight(struct connection *connection) {
  return &connection->requests[connection->correlation_id % PREPARED_REQUESTS];
}

static void begin_request(struct connection *connection, const struct options *options) {
  connection->correlation_id = (connection->correlation_id + 1) & 0x7fffffff;
  struct bytes *request = request_in_flight(connection);
  store_big_endian(request->data + CORRELATION_POSITION, connection->correlation_id, 4);
  if (options->fetched_offsets) {
    connection->fetch_offset = (connection->fetch_offset + 1) % options->fetched_offsets;
    store_big_endian(request->data + request->length - FETCH_OFFSET_FROM_END, connection->fetch_offset, 8);
    if (options->sessions) {
      store_big_endian(request->data + FETCH_SESSION_POSITION, connection->session_id, 4);
      store_big_endian(request->data + FETCH_SESSION_POSITION + 4, connection->session_id ? connection->session_epoch++ : 0, 4);
    }
  }
  connection->sent_bytes = connection->answer_bytes = 0;
  connection->sent_at_ns = now_ns();
}

/* True when the whole request is with the kernel, false when the socket takes no more for now. */
static bool continue_sending(struct connection *connection) {
  struct bytes *request = request_in_flight(connection);
  while (connection->sent_bytes < request->length) {
    ssize_t sent = send(connection->socket, request->data + connection->sent_bytes, request->length - connection->sent_bytes, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (sent < 0) die("send: %s", strerror(errno));
    connection->sent_bytes += (size_t)sent;
  }
  return true;
}

/* True when the whole answer is here, false when more must come. */
static bool continue_reading(struct connection *connection) {
  ssize_t got = recv(connection->socket, connection->answer + connection->answer_bytes, sizeof connection->answer - connection->answer_bytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got < 0) die("recv: %s", strerror(errno));
  if (got == 0) die("the server closed the connection");
  connection->answer_bytes += (size_t)got;
  if (connection->answer_bytes < 4) return false;
  size_t whole = 4 + (size_t)load_u32(connection->answer);
  if (whole > sizeof connection->answer) die("an answer of %zu bytes", whole);
  if (connection->answer_bytes > whole) die("bytes after the answer");
  return connection->answer_bytes == whole;
}

/* The first answer to a fetch opens its session. An error of the whole fetch ends the program. */
static void read_session(struct connection *connection, const struct options *options) {
  const uint8_t *answer = connection->answer + 4 + 4 + 1 + 4; /* length, correlation id, no tags, throttle time */
  if (answer[0] || answer[1]) die("a fetch was refused with error code %d", answer[0] << 8 | answer[1]);
  if (options->sessions && !connection->session_id) connection->session_id = (int32_t)load_u32(answer + 2), connection->session_epoch = 1;
}

/* The error code of the one partition; ends the program when the answer is to another question. */
static int error_code(struct connection *connection, const struct options *options) {
  size_t topic_length = strlen(options->topic);
  if (options->fetched_offsets) read_session(connection, options);
  /* length, correlation id, no tags, for commits the throttle time, for fetches also error and session, one topic, its name,
   * one partition, its index */
  size_t name_at = 4 + 4 + 1 + (options->group ? 4 : options->fetched_offsets ? 10 : 0) + 1, error_at = name_at + (topic_length + 1 < 0x80 ? 1 : 2) + topic_length + 1 + 4;
  if (connection->answer_bytes < error_at + 2) die("an answer of %zu bytes is too short", connection->answer_bytes);
  if ((int32_t)load_u32(connection->answer + 4) != connection->correlation_id) die("an answer to another request");
  return (int16_t)(connection->answer[error_at] << 8 | connection->answer[error_at + 1]);
}

static void open_connection(struct connection *connection, const struct options *options, int number, uint64_t *random) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int yes = 1;
  connection->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->socket < 0 || connect(connection->socket, (struct sockaddr *)&address, sizeof address)) die("connect: %s", strerror(errno));
  setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  for (int i = 0; i < PREPARED_REQUESTS; i++) connection->requests[i] = build_request(options, number % options->partitions, i, random);
}

/* One request at a time until it succeeds: a new topic may not have its leader yet, nor a group its coordinator. */
static void prime(struct connection *connection, const struct options *options) {
  enum { UNKNOWN_TOPIC_OR_PARTITION = 3, LEADER_NOT_AVAILABLE = 5, NOT_LEADER_OR_FOLLOWER = 6 };
  enum { COORDINATOR_LOAD_IN_PROGRESS = 14, COORDINATOR_NOT_AVAILABLE = 15, NOT_COORDINATOR = 16 };
  int64_t deadline = now_ns() + PRIMING_SECONDS_MAX * 1000000000LL;
  for (;;) {
    begin_request(connection, options);
    while (!continue_sending(connection)) {}
    while (!continue_reading(connection)) {}
    int error = error_code(connection, options);
    if (!error) break;
    bool may_pass = error == UNKNOWN_TOPIC_OR_PARTITION || error == LEADER_NOT_AVAILABLE || error == NOT_LEADER_OR_FOLLOWER ||
                    error == COORDINATOR_LOAD_IN_PROGRESS || error == COORDINATOR_NOT_AVAILABLE || error == NOT_COORDINATOR;
    if (!may_pass || now_ns() > deadline) die("refused with error code %d", error);
    usleep(10000);
  }
  fcntl(connection->socket, F_SETFL, O_NONBLOCK);
}

/* -- what was measured --------------------------------------------------------------------------------------------------------- */

struct samples {
  int64_t *latency_ns;
  size_t count, capacity;
};

static void add_sample(struct samples *samples, int64_t latency_ns) {
  if (samples->count == samples->capacity) {
    samples->capacity = samples->capacity ? samples->capacity * 2 : 1 << 16;
    samples->latency_ns = realloc(samples->latency_ns, samples->capacity * sizeof *samples->latency_ns);
    if (!samples->latency_ns) die("out of memory");
  }
  samples->latency_ns[samples->count++] = latency_ns;
}

static int ascending(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

static double percentile_us(const struct samples *samples, double share) {
  size_t index = (size_t)((double)samples->count * share);
  return (double)samples->latency_ns[index < samples->count ? index : samples->count - 1] / 1000;
}

static void report(struct samples *samples, const struct options *options, double seconds) {
  if (!samples->count) die("no answer in %.1f s", seconds);
  qsort(samples->latency_ns, samples->count, sizeof *samples->latency_ns, ascending);
  double requests_per_s = (double)samples->count / seconds;
  printf("{\"requests_per_s\": %.1f, \"records_per_s\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f}\n",
         requests_per_s, requests_per_s * options->records, percentile_us(samples, 0.5), percentile_us(samples, 0.99),
         percentile_us(samples, 0.999), percentile_us(samples, 1));
}

/* -- the loop ------------------------------------------------------------------------------------------------------------------ */

/* Writability is only asked for while a request did not fit into the socket: small requests never pay for it. */
static void watch(int poll, int operation, struct connection *connection, bool sending) {
  struct epoll_event event = {.events = sending ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(poll, operation, connection->socket, &event)) die("epoll_ctl: %s", strerror(errno));
}

static void send_next(int poll, struct connection *connection, const struct options *options) {
  begin_request(connection, options);
  if (!continue_sending(connection)) watch(poll, EPOLL_CTL_MOD, connection, true);
}

static double run(struct connection *connections, const struct options *options, struct samples *samples) {
  int poll = epoll_create1(0);
  for (int i = 0; i < options->connections; i++) watch(poll, EPOLL_CTL_ADD, &connections[i], false);
  int64_t started_ns = now_ns(), stop_ns = started_ns + (int64_t)(options->seconds * 1e9);
  for (int i = 0; i < options->connections; i++) send_next(poll, &connections[i], options);
  while (now_ns() < stop_ns) {
    struct epoll_event events[256];
    int ready = epoll_wait(poll, events, 256, 50);
    for (int i = 0; i < ready; i++) {
      struct connection *connection = events[i].data.ptr;
      if (connection->sent_bytes < request_in_flight(connection)->length) {
        if (continue_sending(connection)) watch(poll, EPOLL_CTL_MOD, connection, false);
        continue;
      }
      if (!continue_reading(connection)) continue;
      add_sample(samples, now_ns() - connection->sent_at_ns);
      int error = error_code(connection, options);
      if (error) die("refused with error code %d", error);
      send_next(poll, connection, options);
    }
  }
  return (double)(now_ns() - started_ns) / 1e9;
}

static struct options parse_options(int count, char **arguments) {
  static const struct option names[] = {
      {"port", required_argument, 0, 'p'},        {"topic", required_argument, 0, 't'},   {"partitions", required_argument, 0, 'n'},
      {"connections", required_argument, 0, 'c'}, {"seconds", required_argument, 0, 's'}, {"records", required_argument, 0, 'r'},
      {"value-bytes", required_argument, 0, 'v'}, {"acks", required_argument, 0, 'a'},    {"group", required_argument, 0, 'g'},
      {"fetch", required_argument, 0, 'f'},       {"sessions", required_argument, 0, 'i'}, {0, 0, 0, 0},
  };
  struct options options = {.partitions = 1, .connections = 1, .records = 1, .value_bytes = 100, .acks = -1, .seconds = 2};
  for (int name; (name = getopt_long(count, arguments, "", names, NULL)) != -1;) {
    switch (name) {
      case 'p': options.port = atoi(optarg); break;
      case 't': options.topic = optarg; break;
      case 'n': options.partitions = atoi(optarg); break;
      case 'c': options.connections = atoi(optarg); break;
      case 's': options.seconds = atof(optarg); break;
      case 'r': options.records = atoi(optarg); break;
      case 'v': options.value_bytes = atoi(optarg); break;
      case 'a': options.acks = atoi(optarg); break;
      case 'g': options.group = optarg; break;
      case 'f': options.fetched_offsets = atoi(optarg); break;
      case 'i': options.sessions = atoi(optarg); break;
      default: exit(2);
    }
  }
  if (!options.port || !options.topic) die("--port and --topic are needed");
  /* With acks=0 nothing is answered, so there is no loop to close. */
  if (options.acks != 1 && options.acks != -1) die("--acks must be 1 or -1");
  if (options.connections < 1 || options.connections > CONNECTIONS_MAX) die("--connections must be 1 to %d", CONNECTIONS_MAX);
  if (options.partitions < 1 || options.records < 1 || options.value_bytes < 0 || options.seconds <= 0) die("counts must be positive");
  return options;
}

int main(int count, char **arguments) {
  struct options options = parse_options(count, arguments);
  struct connection *connections = calloc((size_t)options.connections, sizeof *connections);
  struct samples samples = {0};
  uint64_t random = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < options.connections; i++) open_connection(&connections[i], &options, i, &random);
  for (int i = 0; i < options.connections; i++) prime(&connections[i], &options);
  double seconds = run(connections, &options, &samples);
  report(&samples, &options, seconds);
  return 0;
}
