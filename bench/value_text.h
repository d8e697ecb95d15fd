/* Values that look like what people send: short JSON-like text. A codec halves it or better, as it does real events; random bytes
 * would make compression look useless and zeros would make it look free. */
#ifndef BENCH_VALUE_TEXT_H
#define BENCH_VALUE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* xorshift64: repeatable, and fast enough to be called for every word. */
static inline uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static inline void fill_with_text(uint8_t *target, size_t size, uint64_t *state) {
  static const char *const words[] = {
      "\"order\":", "\"customer\":", "\"status\":", "\"paid\",", "\"shipped\",", "\"price\":", "\"currency\":", "\"EUR\",",
      "\"items\":[", "],", "\"sku\":", "\"espresso\",", "\"cardamom bun\",", "\"created_at\":", "\"region\":", "\"north\",",
  };
  size_t filled = 0;
  while (filled < size) {
    uint64_t random = next_random(state);
    const char *word = words[random % (sizeof words / sizeof *words)];
    size_t length = strlen(word);
    for (size_t i = 0; i < length && filled < size; i++) target[filled++] = (uint8_t)word[i];
    /* Four digits after each word are what keeps the text from being all repetition. */
    for (int digit = 0; digit < 4 && filled < size; digit++) target[filled++] = (uint8_t)('0' + (random >> (16 + 8 * digit)) % 10);
  }
}

#endif
