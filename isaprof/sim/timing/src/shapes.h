/* A table of lanes and their addresses, to find those that are alike. */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const int64_t *addresses;
    const int8_t *lanes;
    int64_t count;
    uint64_t hash;
    int32_t event, form;
} shape_t;

typedef struct {
    shape_t *shape;
    int32_t *slot;
    int64_t n, room, slots;
} shapes_t;

static inline uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

/* Four independent chains, as the processor multiplies several numbers at once. */
static inline uint64_t hash_of(const shape_t *s)
{
    uint64_t h[4] = {(uint64_t)s->form, (uint64_t)s->count, 3, 5};
    int64_t i = 0;
    for (; i + 4 <= s->count; i += 4)
        for (int j = 0; j < 4; j++) h[j] = mix(h[j], (uint64_t)s->addresses[i + j] * 256 + (uint8_t)s->lanes[i + j]);
    for (; i < s->count; i++) h[0] = mix(h[0], (uint64_t)s->addresses[i] * 256 + (uint8_t)s->lanes[i]);
    return mix(mix(h[0], h[1]), mix(h[2], h[3]));
}

static inline int equal(const shape_t *a, const shape_t *b)
{
    return a->hash == b->hash && a->form == b->form && a->count == b->count &&
           !memcmp(a->addresses, b->addresses, sizeof(int64_t) * (size_t)a->count) &&
           !memcmp(a->lanes, b->lanes, (size_t)a->count);
}

static inline int grow(shapes_t *t)
{
    int64_t room = t->room ? t->room * 2 : 512, slots = room * 2;
    shape_t *shape = realloc(t->shape, sizeof(shape_t) * (size_t)room);
    if (!shape) return -1;
    t->shape = shape;
    int32_t *slot = malloc(sizeof(int32_t) * (size_t)slots);
    if (!slot) return -1;
    free(t->slot);
    memset(slot, 0xff, sizeof(int32_t) * (size_t)slots);
    t->slot = slot, t->room = room, t->slots = slots;
    for (int64_t i = 0; i < t->n; i++) {
        uint64_t at = shape[i].hash & (uint64_t)(slots - 1);
        while (slot[at] >= 0) at = (at + 1) & (uint64_t)(slots - 1);
        slot[at] = (int32_t)i;
    }
    return 0;
}

/* Where one with the same lanes and addresses is, or is to be; ``s`` gets its hash. There must be room. */
static inline int32_t *place_of(const shapes_t *t, shape_t *s)
{
    s->hash = hash_of(s);
    uint64_t at = s->hash & (uint64_t)(t->slots - 1);
    while (t->slot[at] >= 0 && !equal(t->shape + t->slot[at], s)) at = (at + 1) & (uint64_t)(t->slots - 1);
    return t->slot + at;
}

/* Room for one more; -1 without memory. */
static inline int make_room(shapes_t *t)
{
    return t->n == t->room ? grow(t) : 0;
}

/* Keep ``s`` at ``place``: its number. */
static inline int32_t keep(shapes_t *t, int32_t *place, const shape_t *s)
{
    t->shape[t->n] = *s;
    return *place = (int32_t)t->n++;
}

static inline void release(shapes_t *t)
{
    free(t->shape);
    free(t->slot);
}

#endif
