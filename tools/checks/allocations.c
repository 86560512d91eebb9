// Counts what a process holds in memory, for tools/checks/check_memory.py: preloaded, it stands before malloc and free.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_long live, peak;

static void add(void* p) {
  if (!p) return;
  long now = atomic_fetch_add(&live, (long)malloc_usable_size(p)) + (long)malloc_usable_size(p);
  long most = atomic_load(&peak);
  while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
  }
}
static void sub(void* p) {
  if (p) atomic_fetch_sub(&live, (long)malloc_usable_size(p));
}

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

void* malloc(size_t n) {
  void* p = __libc_malloc(n);
  add(p);
  return p;
}
void* calloc(size_t n, size_t m) {
  void* p = __libc_calloc(n, m);
  add(p);
  return p;
}
void* realloc(void* old, size_t n) {
  sub(old);
  void* p = __libc_realloc(old, n);
  add(p ? p : old);
  return p;
}
void* memalign(size_t a, size_t n) {
  void* p = __libc_memalign(a, n);
  add(p);
  return p;
}
void* aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void** out, size_t a, size_t n) {
  *out = memalign(a, n);
  return *out ? 0 : 12;
}
void free(void* p) {
  sub(p);
  __libc_free(p);
}

long allocations_start(void) {
  long now = atomic_load(&live);
  atomic_store(&peak, now);
  return now;
}
long allocations_peak(void) { return atomic_load(&peak); }
