/* The compiled record scanner: reads records of batches without a Python object for each.

   It is optional. Each function here has a twin in Python, which always works and which defines the
   behaviour: docs/decisions/0021 tells why there are two. Two rules keep them equal.

   - A function here only answers for bytes that it has read completely and found right. For anything
     else, and for arguments of an unexpected kind, it calls its twin with the same arguments. So all
     errors, and the words in them, come from Python.
   - No byte is read before a comparison of its position with the end of the buffer. Positions are 64
     bits wide. They begin inside the buffer, and the numbers that are added have at most 32 bits, so
     that they cannot overflow.

   `compiled(name, twin)` makes a function; the twin is its `__self__`. KeyTable is the table of
   storage/compaction/key_map.py and has no twin: that module does the same with a dict.

   Only the stable interface of CPython is used, so that one file serves every Python from 3.11 on. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_BYTES_MIN 7
#define NULL_LENGTH 1 /* minus one, in zig-zag */
#define UVARINT_BYTES_MAX 5
#define VARLONG_BYTES_MAX 10
#define UINT32_LIMIT 0xFFFFFFFFLL

/* -- numbers -------------------------------------------------------------------------------------- */

typedef struct {
    const uint8_t *data;
    int64_t size;
} Bytes;

static int read_long_uvarint(Bytes bytes, int64_t *position, int64_t *number)
{
    int64_t at = *position, value = 0;
    for (int index = 0; index < UVARINT_BYTES_MAX; index++, at++) {
        if (at >= bytes.size)
            return 0;
        uint8_t byte = bytes.data[at];
        value |= (int64_t)(byte & 0x7F) << (7 * index);
        if (byte < 0x80) {
            *position = at + 1;
            *number = value;
            return value <= UINT32_LIMIT;
        }
    }
    return 0;
}

/* 0 for a number that is cut off or too large. Nearly all numbers have one or two bytes. */
static inline int read_uvarint(Bytes bytes, int64_t *position, int64_t *number)
{
    int64_t at = *position;
    if (at < bytes.size && bytes.data[at] < 0x80) {
        *position = at + 1;
        *number = bytes.data[at];
        return 1;
    }
    if (at + 1 < bytes.size && bytes.data[at + 1] < 0x80) {
        *position = at + 2;
        *number = (bytes.data[at] & 0x7F) | (int64_t)bytes.data[at + 1] << 7;
        return 1;
    }
    return read_long_uvarint(bytes, position, number);
}

static inline int read_varlong(Bytes bytes, int64_t *position, int64_t *number)
{
    int64_t at = *position;
    uint64_t value = 0;
    for (int index = 0; index < VARLONG_BYTES_MAX; index++, at++) {
        if (at >= bytes.size)
            return 0;
        uint8_t byte = bytes.data[at];
        value |= (uint64_t)(byte & 0x7F) << (7 * index);
        if (byte < 0x80) {
            *position = at + 1;
            *number = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
            return 1;
        }
    }
    return 0;
}

static inline int64_t zig_zag(int64_t number)
{
    return (number >> 1) ^ -(number & 1);
}

/* -- arguments and results ------------------------------------------------------------------------ */

static PyObject *call_twin(PyObject *twin, PyObject *const *args, Py_ssize_t count)
{
    PyObject *all = PyTuple_New(count);
    if (all == NULL)
        return NULL;
    for (Py_ssize_t index = 0; index < count; index++) {
        Py_INCREF(args[index]);
        PyTuple_SetItem(all, index, args[index]);
    }
    PyObject *result = PyObject_CallObject(twin, all);
    Py_DECREF(all);
    return result;
}

/* 0, with no exception set, for an object that is no buffer of single bytes. */
static int get_bytes(PyObject *object, Py_buffer *view, Bytes *bytes)
{
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (view->itemsize != 1) {
        PyBuffer_Release(view);
        return 0;
    }
    bytes->data = view->buf;
    bytes->size = view->len;
    return 1;
}

static int get_number(PyObject *object, int64_t *number)
{
    int overflow = 0;
    if (!PyLong_Check(object))
        return 0;
    *number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

static PyObject *pair(PyObject *first, PyObject *second)
{
    PyObject *both = first != NULL && second != NULL ? PyTuple_New(2) : NULL;
    if (both == NULL) {
        Py_XDECREF(first);
        Py_XDECREF(second);
        return NULL;
    }
    PyTuple_SetItem(both, 0, first);
    PyTuple_SetItem(both, 1, second);
    return both;
}

static int append_number(PyObject *list, int64_t number)
{
    PyObject *object = PyLong_FromLongLong(number);
    if (object == NULL)
        return 0;
    int failed = PyList_Append(list, object);
    Py_DECREF(object);
    return !failed;
}

/* -- wire.varint ---------------------------------------------------------------------------------- */

typedef int Reader(Bytes, int64_t *, int64_t *);

static inline PyObject *number_at(PyObject *twin, PyObject *const *args, Py_ssize_t count, Reader *reader, int is_zig_zag)
{
    Py_buffer view;
    Bytes bytes;
    int64_t position, number;
    if (count != 2 || !get_number(args[1], &position) || position < 0 || !get_bytes(args[0], &view, &bytes))
        return call_twin(twin, args, count);
    int is_read = position < bytes.size && reader(bytes, &position, &number);
    PyBuffer_Release(&view);
    if (!is_read)
        return call_twin(twin, args, count);
    return pair(PyLong_FromLongLong(is_zig_zag ? zig_zag(number) : number), PyLong_FromLongLong(position));
}

static PyObject *py_read_uvarint(PyObject *twin, PyObject *const *args, Py_ssize_t count)
{
    return number_at(twin, args, count, read_uvarint, 0);
}

static PyObject *py_read_varint(PyObject *twin, PyObject *const *args, Py_ssize_t count)
{
    return number_at(twin, args, count, read_uvarint, 1);
}

static PyObject *py_read_varlong(PyObject *twin, PyObject *const *args, Py_ssize_t count)
{
    return number_at(twin, args, count, read_varlong, 0);
}

/* -- records.record_scan -------------------------------------------------------------------------- */

typedef struct {
    int64_t delta;
    int64_t key; /* its position */
    int64_t key_size;
    int is_keyless;
    int is_tombstone;
} Scanned;

typedef struct {
    Bytes body;
    int64_t count;
    int64_t delta_max;
    int64_t position;
    int64_t delta_before;
} Scan;

static Scan scan_of(Bytes body, int64_t count, int64_t last_offset_delta)
{
    return (Scan){body, count, last_offset_delta, 0, -1};
}

/* 0 for a malformed record. */
static inline int scan_next(Scan *scan, Scanned *record)
{
    Bytes body = scan->body;
    int64_t position = scan->position, number;
    if (!read_uvarint(body, &position, &number) || number & 1)
        return 0;
    int64_t stop = position + (number >> 1);
    position += 1; /* attributes */
    do {           /* timestamp */
        if (position >= body.size)
            return 0;
    } while (body.data[position++] >= 0x80);
    if (!read_uvarint(body, &position, &number) || number & 1)
        return 0;
    record->delta = number >> 1;
    if (record->delta <= scan->delta_before || record->delta > scan->delta_max)
        return 0;
    if (!read_uvarint(body, &position, &number) || (number & 1 && number != NULL_LENGTH))
        return 0;
    record->is_keyless = number == NULL_LENGTH;
    record->key = position;
    record->key_size = record->is_keyless ? 0 : number >> 1;
    position += record->key_size;
    if (position >= stop || position >= body.size)
        return 0;
    record->is_tombstone = body.data[position] == NULL_LENGTH;
    if (body.data[position] == (0x80 | NULL_LENGTH)) { /* perhaps minus one in more bytes than it needs */
        if (!read_uvarint(body, &position, &number))
            return 0;
        record->is_tombstone = number == NULL_LENGTH;
    }
    scan->delta_before = record->delta;
    scan->position = stop;
    return 1;
}

static int is_possible(Bytes body, int64_t count)
{
    return count >= 0 && count <= body.size / RECORD_BYTES_MIN;
}

static int add_scanned(PyObject *const lists[4], Bytes body, int64_t index, const Scanned *record)
{
    PyObject *key = PyBytes_FromStringAndSize((const char *)body.data + record->key, record->key_size);
    if (key == NULL)
        return 0;
    int failed = PyList_Append(lists[0], key);
    Py_DECREF(key);
    return !failed && append_number(lists[1], record->delta) && (!record->is_tombstone || append_number(lists[2], index))
           && (!record->is_keyless || append_number(lists[3], index));
}

/* scanned(body, count, last_offset_delta): keys, deltas, tombstones, keyless */
static PyObject *py_scanned(PyObject *twin, PyObject *const *args, Py_ssize_t args_count)
{
    Py_buffer view;
    Bytes body;
    int64_t count, last_offset_delta;
    if (args_count != 3 || !get_number(args[1], &count) || !get_number(args[2], &last_offset_delta) || !get_bytes(args[0], &view, &body))
        return call_twin(twin, args, args_count);
    PyObject *lists[4], *result = is_possible(body, count) ? PyTuple_New(4) : NULL;
    for (int which = 0; which < 4 && result != NULL; which++) {
        lists[which] = PyList_New(0);
        if (lists[which] == NULL)
            Py_CLEAR(result);
        else
            PyTuple_SetItem(result, which, lists[which]);
    }
    Scan scan = scan_of(body, count, last_offset_delta);
    for (int64_t index = 0; index < count && result != NULL; index++) {
        Scanned record;
        if (!scan_next(&scan, &record) || !add_scanned(lists, body, index, &record))
            Py_CLEAR(result);
    }
    if (scan.position != body.size)
        Py_CLEAR(result);
    PyBuffer_Release(&view);
    return result != NULL || PyErr_Occurred() ? result : call_twin(twin, args, args_count);
}

/* record_bounds(body, count) */
static PyObject *py_record_bounds(PyObject *twin, PyObject *const *args, Py_ssize_t args_count)
{
    Py_buffer view;
    Bytes body;
    int64_t count, position = 0, number;
    if (args_count != 2 || !get_number(args[1], &count) || !get_bytes(args[0], &view, &body))
        return call_twin(twin, args, args_count);
    PyObject *bounds = PyList_New(0);
    int is_right = bounds != NULL;
    for (int64_t index = 0; index < count && is_right; index++) {
        is_right = append_number(bounds, position) && read_uvarint(body, &position, &number);
        position += is_right ? number >> 1 : 0;
    }
    is_right = is_right && position == body.size;
    PyBuffer_Release(&view);
    if (is_right && append_number(bounds, position))
        return bounds;
    Py_XDECREF(bounds);
    return PyErr_Occurred() ? NULL : call_twin(twin, args, args_count);
}

/* Where record number `index` of the list begins and ends, for indexes that rise. */
typedef struct {
    Bytes body;
    int64_t count;
    int64_t index; /* of the record that begins at `start` */
    int64_t start;
    int64_t stop;
} Walk;

static int walk_to(Walk *walk, int64_t index)
{
    if (index < walk->index || index >= walk->count)
        return 0;
    while (1) {
        int64_t position = walk->stop, number;
        if (!read_uvarint(walk->body, &position, &number))
            return 0;
        walk->start = walk->stop;
        walk->stop = position + (number >> 1);
        if (walk->stop > walk->body.size)
            return 0;
        if (walk->index++ == index)
            return 1;
    }
}

static int timestamp_delta_at(Bytes body, int64_t position, int64_t *delta)
{
    int64_t number;
    if (!read_uvarint(body, &position, &number))
        return 0;
    position += 1; /* attributes */
    return read_varlong(body, &position, delta);
}

/* The chosen records copied to `out`, which has the size of the body, and the largest of their
   timestamp deltas, if `largest` is not NULL. Returns their size, or -1. */
static int64_t copy_records(Bytes body, int64_t count, PyObject *kept, uint8_t *out, int64_t *largest)
{
    Walk walk = {body, count, 0, 0, 0};
    int64_t size = 0, index, delta;
    Py_ssize_t kept_count = PyList_Size(kept);
    for (Py_ssize_t place = 0; place < kept_count; place++) {
        if (!get_number(PyList_GetItem(kept, place), &index) || !walk_to(&walk, index))
            return -1;
        /* Indexes rise, so that no record is copied twice and all fit. */
        memcpy(out + size, body.data + walk.start, walk.stop - walk.start);
        size += walk.stop - walk.start;
        if (largest == NULL)
            continue;
        if (!timestamp_delta_at(body, walk.start, &delta))
            return -1;
        if (!place || delta > *largest)
            *largest = delta;
    }
    /* The rest of the records must fill the body, as the twin wants it. */
    if (walk.index < count && !walk_to(&walk, count - 1))
        return -1;
    return walk.stop == body.size ? size : -1;
}

/* cut_records(body, count, kept, known_max): the records, and the largest timestamp delta or None */
static PyObject *py_cut_records(PyObject *twin, PyObject *const *args, Py_ssize_t args_count)
{
    Py_buffer view;
    Bytes body;
    int64_t count, known_max = 0, largest = 0;
    if (args_count != 4 || !get_number(args[1], &count) || !PyList_Check(args[2]) || PyList_Size(args[2]) < 1
        || (args[3] != Py_None && !get_number(args[3], &known_max)) || !get_bytes(args[0], &view, &body))
        return call_twin(twin, args, args_count);
    /* For the largest possible result; the system gives only the pages that are written to. */
    uint8_t *copied = malloc(body.size + 1);
    PyObject *cut = NULL, *timestamp = NULL;
    int64_t size = copied == NULL ? -1 : copy_records(body, count, args[2], copied, args[3] == Py_None ? NULL : &largest);
    if (size >= 0) {
        cut = PyBytes_FromStringAndSize((const char *)copied, size);
        if (args[3] == Py_None)
            Py_INCREF(timestamp = Py_None);
        else
            timestamp = PyLong_FromLongLong(largest > known_max ? known_max : largest);
    }
    free(copied);
    PyBuffer_Release(&view);
    if (cut != NULL && timestamp != NULL)
        return pair(cut, timestamp);
    Py_XDECREF(cut);
    Py_XDECREF(timestamp);
    return PyErr_Occurred() ? NULL : call_twin(twin, args, args_count);
}

/* -- records.record ------------------------------------------------------------------------------- */

/* Position and size of a part of a record; a size of -1 is null. 0 if it does not lie in the record. */
static inline int read_part(Bytes body, int64_t *position, int64_t end, int64_t *start, int64_t *size)
{
    int64_t number;
    if (!read_uvarint(body, position, &number))
        return 0;
    *size = zig_zag(number);
    *start = *position;
    if (*size < -1 || *size > end - *position)
        return 0;
    *position += *size < 0 ? 0 : *size;
    return 1;
}

static PyObject *part_object(Bytes body, int64_t start, int64_t size)
{
    if (size < 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return PyBytes_FromStringAndSize((const char *)body.data + start, size);
}

/* NULL without an exception for headers that only the twin can judge. */
static PyObject *read_headers(Bytes body, int64_t *position, int64_t end)
{
    int64_t number, start, size;
    if (!read_uvarint(body, position, &number))
        return NULL;
    int64_t count = zig_zag(number);
    if (count < 0 || count * 2 > end - *position)
        return NULL;
    PyObject *headers = PyTuple_New(count);
    for (int64_t index = 0; index < count && headers != NULL; index++) {
        PyObject *name = NULL, *value = NULL, *both = NULL;
        if (read_part(body, position, end, &start, &size) && size >= 0)
            name = PyUnicode_DecodeUTF8((const char *)body.data + start, size, "replace");
        if (name != NULL && read_part(body, position, end, &start, &size))
            value = part_object(body, start, size);
        if (value != NULL)
            both = pair(name, value);
        else
            Py_XDECREF(name);
        if (both == NULL)
            Py_CLEAR(headers);
        else
            PyTuple_SetItem(headers, index, both);
    }
    return headers;
}

/* A named tuple of five, without the constructor, which takes longer than reading the bytes. */
static PyObject *new_record(PyObject *record_type, PyObject *const parts[5])
{
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)record_type, Py_tp_alloc);
    PyObject *record = allocate((PyTypeObject *)record_type, 5);
    if (record == NULL)
        return NULL;
    for (int index = 0; index < 5; index++) {
        Py_INCREF(parts[index]);
        PyTuple_SetItem(record, index, parts[index]);
    }
    return record;
}

/* read_record(body, position, base_offset, base_timestamp, append_time, Record): the record and its end */
static PyObject *py_read_record(PyObject *twin, PyObject *const *args, Py_ssize_t args_count)
{
    Py_buffer view;
    Bytes body;
    int64_t position, base_offset, base_timestamp, append_time = 0, length, timestamp, delta, key, key_size, value, value_size;
    if (args_count != 6 || !get_number(args[1], &position) || position < 0 || !get_number(args[2], &base_offset)
        || !get_number(args[3], &base_timestamp) || (args[4] != Py_None && !get_number(args[4], &append_time)) || !PyType_Check(args[5])
        || !PyType_IsSubtype((PyTypeObject *)args[5], &PyTuple_Type) || !get_bytes(args[0], &view, &body))
        return call_twin(twin, args, args_count);
    PyObject *headers = NULL, *result = NULL;
    int64_t end = -1;
    if (position < body.size && read_uvarint(body, &position, &length)) {
        length = zig_zag(length);
        end = position + length;
    }
    if (end >= 0 && length >= RECORD_BYTES_MIN - 1 && end <= body.size) {
        position += 1; /* attributes */
        if (read_varlong(body, &position, &timestamp) && read_uvarint(body, &position, &delta)
            && read_part(body, &position, end, &key, &key_size) && read_part(body, &position, end, &value, &value_size))
            headers = read_headers(body, &position, end);
        /* A sum beyond 64 bits is left to the twin, whose numbers have no limit. */
        if (headers != NULL && position == end && !__builtin_add_overflow(base_timestamp, timestamp, &timestamp)
            && !__builtin_add_overflow(base_offset, zig_zag(delta), &delta)) {
            PyObject *parts[5] = {
                PyLong_FromLongLong(delta),
                PyLong_FromLongLong(args[4] == Py_None ? timestamp : append_time),
                part_object(body, key, key_size),
                part_object(body, value, value_size),
                headers,
            };
            headers = NULL;
            PyObject *record = parts[0] && parts[1] && parts[2] && parts[3] ? new_record(args[5], parts) : NULL;
            for (int index = 0; index < 5; index++)
                Py_XDECREF(parts[index]);
            result = pair(record, PyLong_FromLongLong(end));
        }
    }
    Py_XDECREF(headers);
    PyBuffer_Release(&view);
    return result != NULL || PyErr_Occurred() ? result : call_twin(twin, args, args_count);
}

/* -- records.record_check ------------------------------------------------------------------------- */

static int skip_headers(Bytes body, int64_t *position, int64_t stop)
{
    int64_t number, start, size;
    if (!read_uvarint(body, position, &number))
        return 0;
    int64_t count = zig_zag(number);
    if (count < 0 || count * 2 > stop - *position)
        return 0;
    for (int64_t index = 0; index < count; index++)
        if (!read_part(body, position, stop, &start, &size) || size < 0 || !read_part(body, position, stop, &start, &size))
            return 0;
    return 1;
}

/* Whether a record is right, with the offset delta `index`; moves behind it. */
static inline int check_record(Bytes body, int64_t *place, int64_t index, int keys_required)
{
    int64_t position = *place, number, start, size;
    if (!read_uvarint(body, &position, &number) || number & 1 || number < 2 * (RECORD_BYTES_MIN - 1))
        return 0;
    int64_t stop = position + (number >> 1);
    if (stop > body.size)
        return 0;
    position += 1; /* attributes */
    if (!read_varlong(body, &position, &number) || !read_uvarint(body, &position, &number) || number != 2 * index)
        return 0;
    if (!read_part(body, &position, stop, &start, &size) || (keys_required && size < 0))
        return 0;
    if (!read_part(body, &position, stop, &start, &size) || !skip_headers(body, &position, stop))
        return 0;
    *place = position;
    return position == stop;
}

/* check_records(body, record_count, records_max, keys_required=False) */
static PyObject *py_check_records(PyObject *twin, PyObject *const *args, Py_ssize_t args_count)
{
    Py_buffer view;
    Bytes body;
    int64_t count, checked, position = 0;
    if (args_count < 3 || args_count > 4 || !get_number(args[1], &count) || !get_number(args[2], &checked)
        || (args_count == 4 && !PyBool_Check(args[3])) || !get_bytes(args[0], &view, &body))
        return call_twin(twin, args, args_count);
    int keys_required = args_count == 4 && args[3] == Py_True;
    int is_right = count >= 0 && count <= body.size / RECORD_BYTES_MIN;
    int is_whole = count <= checked;
    if (is_whole)
        checked = count;
    for (int64_t index = 0; index < checked && is_right; index++)
        is_right = check_record(body, &position, index, keys_required);
    is_right = is_right && (!is_whole || position == body.size);
    PyBuffer_Release(&view);
    if (!is_right)
        return call_twin(twin, args, args_count);
    Py_INCREF(Py_None);
    return Py_None;
}

/* -- KeyTable ------------------------------------------------------------------------------------- */

/* Open addressing with linear probing. A slot holds a keyed hash of 128 bits instead of the key, as
   Kafka's SkimpyOffsetMap holds an MD5, and twice the offset relative to `origin`, plus one for a
   tombstone. A slot whose hash is zero is free; the hash of no key is zero. */

#define SLOTS_MIN 1024
/* While a table is copied to a larger one, both exist. With a factor of eight they take no more than
   the larger one and the survivors. */
#define GROWTH 8
#define ENTRIES_MAX 0x7FFFFFFFLL
#define SPAN_MAX 0x7FFFFFFFLL

typedef struct {
    uint32_t words[4];
} Hash;

typedef struct {
    Hash hash;
    uint32_t value;
} Slot;

typedef struct {
    PyObject_HEAD
    uint64_t secret[2];
    Slot *slots;
    int64_t slot_count;
    int64_t entries;
    int64_t entries_max;
    int64_t origin;
    uint32_t *survivors; /* the values, sorted; made by the first question for them */
} KeyTable;

#define ROTATE(word, bits) (((word) << (bits)) | ((word) >> (64 - (bits))))

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = ROTATE(v[1], 13) ^ v[0];
    v[0] = ROTATE(v[0], 32);
    v[2] += v[3];
    v[3] = ROTATE(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = ROTATE(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = ROTATE(v[1], 17) ^ v[2];
    v[2] = ROTATE(v[2], 32);
}

/* SipHash-2-4 with 128 bits, as its authors define it: a producer cannot find keys that collide
   without the secret. */
static inline Hash hash_of(const uint64_t secret[2], const uint8_t *data, int64_t size)
{
    uint64_t v[4] = {
        secret[0] ^ 0x736f6d6570736575ULL,
        secret[1] ^ 0x646f72616e646f6dULL ^ 0xee,
        secret[0] ^ 0x6c7967656e657261ULL,
        secret[1] ^ 0x7465646279746573ULL,
    };
    uint64_t word, halves[2];
    int64_t whole = size & ~(int64_t)7;
    for (int64_t at = 0; at < whole; at += 8) {
        memcpy(&word, data + at, 8);
        v[3] ^= word;
        sip_round(v);
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)size << 56;
    for (int64_t at = whole; at < size; at++)
        word |= (uint64_t)data[at] << (8 * (at - whole));
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xee;
    for (int round = 0; round < 4; round++)
        sip_round(v);
    halves[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    for (int round = 0; round < 4; round++)
        sip_round(v);
    halves[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
    if (!halves[0] && !halves[1])
        halves[1] = 1;
    Hash hash;
    memcpy(&hash, halves, sizeof hash);
    return hash;
}

static inline int is_free(const Slot *slot)
{
    return !(slot->hash.words[0] | slot->hash.words[1] | slot->hash.words[2] | slot->hash.words[3]);
}

static inline int64_t home(int64_t slot_count, const Hash *hash)
{
    return (int64_t)(((uint64_t)hash->words[0] * (uint64_t)slot_count) >> 32);
}

/* The slot of a hash, or the free one where it belongs. There is always a free slot. */
static inline Slot *find(Slot *slots, int64_t slot_count, const Hash *hash)
{
    int64_t place = home(slot_count, hash);
    while (1) {
        Slot *slot = slots + place;
        if (!memcmp(&slot->hash, hash, sizeof *hash) || is_free(slot))
            return slot;
        if (++place == slot_count)
            place = 0;
    }
}

/* The largest table has a ninth more slots than entries; smaller ones are left when they are filled
   to seven tenths. */
static int64_t largest_table(const KeyTable *table)
{
    return table->entries_max + table->entries_max / 9 + 1;
}

static int64_t room(const KeyTable *table)
{
    return table->slot_count >= largest_table(table) ? table->entries_max : table->slot_count * 7 / 10;
}

static int grow(KeyTable *table, int64_t entries)
{
    int64_t largest = largest_table(table), wanted = largest;
    while (wanted / GROWTH >= SLOTS_MIN && wanted / GROWTH * 7 / 10 >= entries)
        wanted /= GROWTH;
    Slot *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (int64_t place = 0; place < table->slot_count; place++)
        if (!is_free(table->slots + place))
            *find(slots, wanted, &table->slots[place].hash) = table->slots[place];
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    return 1;
}

static inline Hash key_hash(const KeyTable *table, Bytes body, const Scanned *record)
{
    return hash_of(table->secret, body.data + record->key, record->key_size);
}

static inline int counts(const Scanned *record, int64_t first_delta)
{
    return !record->is_keyless && record->delta >= first_delta;
}

/* How many records of a batch have keys that the table does not hold. A key that the batch has twice
   counts twice, so a batch may be refused that would just fit; the next pass begins with it. */
static int64_t count_new(const KeyTable *table, Scan scan, int64_t first_delta)
{
    int64_t found = 0;
    Scanned record;
    for (int64_t index = 0; index < scan.count && scan_next(&scan, &record); index++) {
        if (!counts(&record, first_delta))
            continue;
        Hash hash = key_hash(table, scan.body, &record);
        found += is_free(find(table->slots, table->slot_count, &hash));
    }
    return found;
}

/* Records are hashed some at a time, and the slots of all of them are fetched from memory together:
   waiting for one after the other would take longer than everything else. */
#define AHEAD 32

typedef struct {
    Slot slots[AHEAD];
    int count;
} Waiting;

static void add_waiting(const KeyTable *table, Waiting *waiting, Hash hash, int64_t value)
{
    waiting->slots[waiting->count++] = (Slot){hash, (uint32_t)value};
    if (table->slot_count)
        __builtin_prefetch(table->slots + home(table->slot_count, &hash));
}

static int insert(KeyTable *table, const Slot *added)
{
    Slot *slot = table->slot_count ? find(table->slots, table->slot_count, &added->hash) : NULL;
    if (slot == NULL || (is_free(slot) && table->entries >= room(table))) {
        if (!grow(table, table->entries + 1))
            return 0;
        slot = find(table->slots, table->slot_count, &added->hash);
    }
    table->entries += is_free(slot);
    *slot = *added;
    return 1;
}

static int insert_waiting(KeyTable *table, Waiting *waiting)
{
    for (int index = 0; index < waiting->count; index++)
        if (!insert(table, waiting->slots + index))
            return 0;
    waiting->count = 0;
    return 1;
}

#define NO_ROOM -1
#define MALFORMED -2

/* The number of records without a key; or MALFORMED, or an exception, and then the table is of no use
   any more. */
static int64_t insert_all(KeyTable *table, Scan scan, int64_t base_offset, int64_t first_delta)
{
    Waiting waiting = {.count = 0};
    int64_t keyless = 0, relative = base_offset - table->origin;
    Scanned record;
    for (int64_t index = 0; index < scan.count; index++) {
        if (!scan_next(&scan, &record))
            return MALFORMED;
        keyless += record.is_keyless;
        if (!counts(&record, first_delta))
            continue;
        add_waiting(table, &waiting, key_hash(table, scan.body, &record), 2 * (relative + record.delta) + record.is_tombstone);
        if (waiting.count == AHEAD && !insert_waiting(table, &waiting))
            return MALFORMED;
    }
    return insert_waiting(table, &waiting) && scan.position == scan.body.size ? keyless : MALFORMED;
}

static int has_room(KeyTable *table, Scan scan, int64_t base_offset, int64_t first_delta)
{
    if (!table->entries) { /* The first batch always has room: a pass must get further than the one before. */
        table->origin = base_offset;
        if (scan.count > table->entries_max)
            table->entries_max = scan.count;
        return 1;
    }
    if (base_offset - table->origin + scan.delta_max > SPAN_MAX)
        return 0;
    int64_t rest = table->entries_max - table->entries;
    return scan.count <= rest || count_new(table, scan, first_delta) <= rest;
}

/* add(body, count, last_offset_delta, base_offset, start_offset): the number of keyless records,
   NO_ROOM, or MALFORMED, and then the table is of no use any more. Records below the start offset do
   not count. */
static PyObject *table_add(KeyTable *table, PyObject *args)
{
    Py_buffer view;
    long long count, last_offset_delta, base_offset, start_offset;
    if (!PyArg_ParseTuple(args, "y*LLLL", &view, &count, &last_offset_delta, &base_offset, &start_offset))
        return NULL;
    Bytes body = {view.buf, view.len};
    int64_t added = MALFORMED;
    if (table->survivors != NULL || (table->entries && base_offset < table->origin))
        PyErr_SetString(PyExc_ValueError, "the map is complete, or offsets do not rise");
    else if (is_possible(body, count)) {
        Scan scan = scan_of(body, count, last_offset_delta);
        int64_t first_delta = start_offset - base_offset;
        added = has_room(table, scan, base_offset, first_delta) ? insert_all(table, scan, base_offset, first_delta) : NO_ROOM;
    }
    PyBuffer_Release(&view);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(added);
}

static int is_superseded(const KeyTable *table, Bytes body, const Scanned *record, int64_t base_offset)
{
    if (!table->entries)
        return 0;
    Hash hash = key_hash(table, body, record);
    const Slot *slot = find(table->slots, table->slot_count, &hash);
    return !is_free(slot) && (int64_t)(slot->value >> 1) > base_offset - table->origin + record->delta;
}

/* staying(body, count, last_offset_delta, base_offset, end_offset, without_tombstones): the indexes
   of the records to keep, and whether one of them is a tombstone; None for malformed records. */
static PyObject *table_staying(KeyTable *table, PyObject *args)
{
    Py_buffer view;
    long long count, last_offset_delta, base_offset, end_offset;
    int without_tombstones, has_tombstone = 0;
    if (!PyArg_ParseTuple(args, "y*LLLLp", &view, &count, &last_offset_delta, &base_offset, &end_offset, &without_tombstones))
        return NULL;
    Bytes body = {view.buf, view.len};
    PyObject *kept = is_possible(body, count) ? PyList_New(0) : NULL;
    Scan scan = scan_of(body, count, last_offset_delta);
    Scanned record;
    for (int64_t index = 0; index < count && kept != NULL; index++) {
        if (!scan_next(&scan, &record)) {
            Py_CLEAR(kept);
            break;
        }
        int is_unmapped = base_offset + record.delta >= end_offset;
        int is_removed = record.is_keyless || (without_tombstones && record.is_tombstone);
        if (!is_unmapped && (is_removed || is_superseded(table, body, &record, base_offset)))
            continue;
        has_tombstone |= record.is_tombstone;
        if (!append_number(kept, index))
            Py_CLEAR(kept);
    }
    if (scan.position != body.size)
        Py_CLEAR(kept);
    PyBuffer_Release(&view);
    if (kept != NULL || PyErr_Occurred())
        return pair(kept, PyBool_FromLong(has_tombstone));
    Py_INCREF(Py_None);
    return Py_None;
}

/* In place, because the memory for a copy belongs to more keys: by the highest bit, then the next. */
static void sort_values(uint32_t *values, int64_t count, uint32_t bit)
{
    while (count > 1 && bit) {
        int64_t low = 0, high = count;
        while (low < high) {
            if (!(values[low] & bit))
                low++;
            else {
                uint32_t other = values[--high];
                values[high] = values[low];
                values[low] = other;
            }
        }
        bit >>= 1;
        sort_values(values, low, bit);
        values += low;
        count -= low;
    }
}

static int make_survivors(KeyTable *table)
{
    if (table->survivors != NULL)
        return 1;
    table->survivors = malloc((table->entries + 1) * sizeof *table->survivors);
    if (table->survivors == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    int64_t count = 0;
    for (int64_t place = 0; place < table->slot_count; place++)
        if (!is_free(table->slots + place))
            table->survivors[count++] = table->slots[place].value;
    sort_values(table->survivors, count, 0x80000000U);
    return 1;
}

/* The place of the first survivor that is not below an offset. */
static int64_t first_from(const KeyTable *table, int64_t offset)
{
    int64_t low = 0, high = table->entries;
    if (offset <= table->origin)
        return low;
    if (offset - table->origin > SPAN_MAX)
        return high;
    int64_t value = 2 * (offset - table->origin);
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if ((int64_t)table->survivors[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* survivors(base_offset, end_offset): the latest offsets in this range, relative to its start; None
   when a tombstone is among them. Completes the table. */
static PyObject *table_survivors(KeyTable *table, PyObject *args)
{
    long long base_offset, end_offset;
    if (!PyArg_ParseTuple(args, "LL", &base_offset, &end_offset) || !make_survivors(table))
        return NULL;
    PyObject *found = PyList_New(0);
    int64_t end = first_from(table, end_offset);
    for (int64_t place = first_from(table, base_offset); place < end && found != NULL; place++) {
        uint32_t value = table->survivors[place];
        if (value & 1) {
            Py_DECREF(found);
            Py_INCREF(Py_None);
            return Py_None;
        }
        if (!append_number(found, table->origin + (value >> 1) - base_offset))
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Py_buffer secret;
    long long entries_max;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "y*L", &secret, &entries_max))
        return NULL;
    if (secret.len != 16) {
        PyBuffer_Release(&secret);
        PyErr_SetString(PyExc_ValueError, "the secret has 16 bytes");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    KeyTable *table = (KeyTable *)allocate(type, 0);
    if (table != NULL) {
        memcpy(table->secret, secret.buf, 16);
        table->entries_max = entries_max < 1 ? 1 : entries_max > ENTRIES_MAX ? ENTRIES_MAX : entries_max;
    }
    PyBuffer_Release(&secret);
    return (PyObject *)table;
}

static void table_free(KeyTable *table)
{
    PyTypeObject *type = Py_TYPE((PyObject *)table);
    free(table->slots);
    free(table->survivors);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(table);
    Py_DECREF(type);
}

static PyObject *table_entries(KeyTable *table, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(table->entries);
}

static PyObject *table_size_bytes(KeyTable *table, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(table->slot_count * (int64_t)sizeof(Slot) + table->entries * (int64_t)sizeof(uint32_t));
}

static PyMethodDef table_methods[] = {
    {"add", (PyCFunction)table_add, METH_VARARGS, NULL},
    {"staying", (PyCFunction)table_staying, METH_VARARGS, NULL},
    {"survivors", (PyCFunction)table_survivors, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef table_properties[] = {
    {"entries", (getter)table_entries, NULL, NULL, NULL},
    {"size_bytes", (getter)table_size_bytes, NULL, NULL, NULL},
    {0},
};

static PyType_Slot table_slots[] = {
    {Py_tp_new, table_new},
    {Py_tp_dealloc, table_free},
    {Py_tp_methods, table_methods},
    {Py_tp_getset, table_properties},
    {0, NULL},
};

static PyType_Spec table_spec = {"barnabas.model._record_scanner.KeyTable", sizeof(KeyTable), 0, Py_TPFLAGS_DEFAULT, table_slots};

/* siphash(secret, data): for the test with the vectors of its authors */
static PyObject *py_siphash(PyObject *module, PyObject *args)
{
    Py_buffer secret, data;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*", &secret, &data))
        return NULL;
    PyObject *result = NULL;
    if (secret.len == 16) {
        uint64_t words[2];
        memcpy(words, secret.buf, 16);
        Hash hash = hash_of(words, data.buf, data.len);
        result = PyBytes_FromStringAndSize((const char *)&hash, sizeof hash);
    } else
        PyErr_SetString(PyExc_ValueError, "the secret has 16 bytes");
    PyBuffer_Release(&secret);
    PyBuffer_Release(&data);
    return result;
}

/* -- the module ----------------------------------------------------------------------------------- */

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL, NULL}

static PyMethodDef twins[] = {
    FUNCTION(read_uvarint), FUNCTION(read_varint), FUNCTION(read_varlong), FUNCTION(scanned),   FUNCTION(record_bounds),
    FUNCTION(cut_records),  FUNCTION(read_record), FUNCTION(check_records), {0},
};

/* compiled(name, twin) */
static PyObject *py_compiled(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *twin;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO", &name, &twin))
        return NULL;
    for (PyMethodDef *each = twins; each->ml_name != NULL; each++)
        if (!strcmp(each->ml_name, name))
            return PyCFunction_NewEx(each, twin, NULL);
    return PyErr_Format(PyExc_KeyError, "no function %s was compiled", name);
}

static PyMethodDef functions[] = {
    {"compiled", py_compiled, METH_VARARGS, NULL},
    {"siphash", py_siphash, METH_VARARGS, NULL},
    {0},
};

static int fill_module(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&table_spec);
    if (type == NULL || PyModule_AddObjectRef(module, "KeyTable", type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    Py_DECREF(type);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill_module}, {0, NULL}};

static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_record_scanner", NULL, 0, functions, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__record_scanner(void)
{
    return PyModuleDef_Init(&module_definition);
}
