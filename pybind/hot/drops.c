// What the program lets go of, until the core takes it.
#include "py.h"

static pthread_mutex_t drop_lock = PTHREAD_MUTEX_INITIALIZER;
static hot_drop *drops, *taken;
static int64_t drops_cap, taken_cap;
volatile int32_t hot_drop_count;

void hot_let_go(const unsigned char *id, uint64_t view) {
  if (hot_forked) return;
  pthread_mutex_lock(&drop_lock);
  int64_t n = hot_drop_count;
  if (n == drops_cap) {
    int64_t cap = drops_cap ? drops_cap * 2 : 256;
    hot_drop *p = realloc(drops, cap * sizeof *p);
    if (!p) { pthread_mutex_unlock(&drop_lock); return; }
    drops = p;
    drops_cap = cap;
  }
  if (id) memcpy(drops[n].id, id, HOT_OBJECT);
  drops[n].view = view;
  hot_drop_count = (int32_t)(n + 1);
  pthread_mutex_unlock(&drop_lock);
  if (n == 0 || n % 4096 == 4095) HotDropsWaiting();
}

int64_t hot_take_drops(hot_drop **out) {
  pthread_mutex_lock(&drop_lock);
  hot_drop *p = taken; taken = drops; drops = p;
  int64_t c = taken_cap; taken_cap = drops_cap; drops_cap = c;
  int64_t n = hot_drop_count;
  hot_drop_count = 0;
  pthread_mutex_unlock(&drop_lock);
  *out = taken;
  return n;
}

// hot_ref_gone notes that the program has let go of a reference of a batch. When all references
// of the batch are gone it tells the core, and does not touch the batch any more.
void hot_ref_gone(struct ref_batch *s, uint32_t place) {
  if (hot_forked) return;
  uint64_t *bits = &s->dead[place >> 6];
  __atomic_store_n(bits, *bits | 1ull << (place & 63), __ATOMIC_RELAXED); // only the thread that has the interpreter's lock writes
  unsigned char id[HOT_OBJECT] = {0};
  uint64_t number = __builtin_bswap64(s->number);
  if (--s->alive == 0) {
    memcpy(id, &number, 8);
    hot_let_go(id, HOT_DROP_LAST);
  } else if (__atomic_exchange_n(&s->told, 1, __ATOMIC_SEQ_CST) == 0) {
    memcpy(id, &number, 8);
    hot_let_go(id, HOT_DROP_SOME);
  }
}
