/* A disk that can fail, loaded in front of the C library (LD_PRELOAD) for files below REPLICAL_DISK.

   REPLICAL_DISK_LOG       every change of a file or folder, every sync, and what is said on standard output, in order: support/disk.py
                           makes of it what a power cut would leave behind
   REPLICAL_DISK_ROOM      files may grow by so many bytes together; then there is no space left on the device
   REPLICAL_DISK_READ_ONLY nothing may be changed
   REPLICAL_DISK_BAD_SYNC  the sync of this number fails, as a broken disk's does */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 4096
enum { NOTHING, FILE_, FOLDER };
static char kind[MOST]; /* of every descriptor */
static const char *root;
static int log_to = -1, read_only;
static long room = -1, bad_sync = -1, syncs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void) {
  const char *value = getenv("REPLICAL_DISK_LOG");
  root = getenv("REPLICAL_DISK");
  if (value) log_to = syscall(SYS_openat, AT_FDCWD, value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if ((value = getenv("REPLICAL_DISK_ROOM"))) room = atol(value);
  if ((value = getenv("REPLICAL_DISK_BAD_SYNC"))) bad_sync = atol(value);
  read_only = getenv("REPLICAL_DISK_READ_ONLY") != NULL;
}
static void ready(void) { pthread_once(&once, begin); }
#define REAL(name, ...)                                     \
  static __typeof__(__VA_ARGS__) real;                      \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, name);      \
  ready()

static void note(char what, uint64_t id, uint64_t offset, const void *data, uint32_t length) {
  char head[21];
  struct iovec parts[2] = {{head, sizeof head}, {(void *)data, length}};
  if (log_to < 0) return;
  head[0] = what;
  memcpy(head + 1, &id, 8), memcpy(head + 9, &offset, 8), memcpy(head + 17, &length, 4);
  if (syscall(SYS_writev, log_to, parts, 2) < 0) abort();
}
static uint64_t number(int fd) {
  struct stat found;
  return fstat(fd, &found) ? 0 : found.st_ino;
}
static off_t size_of(int fd) {
  struct stat found;
  return fstat(fd, &found) ? 0 : found.st_size;
}
static int below(const char *path) {
  size_t length = root ? strlen(root) : 0;
  return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}
static int is(int fd, char which) { return fd >= 0 && fd < MOST && kind[fd] == which; }

static int opened(int fd, const char *path, int flags, int there, off_t before) {
  struct stat found;
  int keep = errno;
  if (fd < 0 || fd >= MOST) return fd;
  kind[fd] = NOTHING;
  if (below(path) && !fstat(fd, &found)) {
    kind[fd] = S_ISDIR(found.st_mode) ? FOLDER : S_ISREG(found.st_mode) ? FILE_ : NOTHING;
    if (kind[fd] == FILE_) note(there ? 'O' : 'C', found.st_ino, 0, path, strlen(path));
    if (kind[fd] == FILE_ && there && (flags & O_TRUNC) && before) note('T', found.st_ino, 0, "", 0);
  }
  errno = keep;
  return fd;
}
#define OPEN(name)                                                                            \
  int name(const char *path, int flags, ...) {                                                \
    REAL(#name, int (*)(const char *, int, ...));                                             \
    struct stat found;                                                                        \
    mode_t mode = 0;                                                                          \
    va_list rest;                                                                             \
    va_start(rest, flags);                                                                    \
    if (flags & (O_CREAT | O_TMPFILE)) mode = va_arg(rest, mode_t);                           \
    va_end(rest);                                                                             \
    if (!below(path)) return opened(real(path, flags, mode), path, flags, 1, 0);              \
    int there = !stat(path, &found);                                                          \
    if (read_only && ((flags & O_ACCMODE) != O_RDONLY || (!there && (flags & O_CREAT)))) {    \
      errno = EROFS;                                                                          \
      return -1;                                                                              \
    }                                                                                         \
    return opened(real(path, flags, mode), path, flags, there, there ? found.st_size : 0);    \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  REAL("close", int (*)(int));
  if (fd >= 0 && fd < MOST) kind[fd] = NOTHING;
  return real(fd);
}
static int no_room(int fd, off_t offset, size_t length) {
  off_t growth = offset + (off_t)length - size_of(fd);
  if (room < 0 || growth <= 0) return 0;
  if (growth > room) {
    errno = ENOSPC;
    return 1;
  }
  room -= growth;
  return 0;
}
#define PWRITE(name, offset_type)                                                   \
  ssize_t name(int fd, const void *data, size_t length, offset_type offset) {       \
    REAL(#name, ssize_t(*)(int, const void *, size_t, offset_type));                \
    if (!is(fd, FILE_)) return real(fd, data, length, offset);                      \
    pthread_mutex_lock(&lock);                                                      \
    ssize_t done = no_room(fd, offset, length) ? -1 : real(fd, data, length, offset); \
    if (done > 0) note('W', number(fd), offset, data, done);                        \
    pthread_mutex_unlock(&lock);                                                    \
    return done;                                                                    \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t length) {
  REAL("write", ssize_t(*)(int, const void *, size_t));
  if (fd == 1) { /* said only after everything before it was done */
    pthread_mutex_lock(&lock);
    note('A', 0, 0, data, length);
    pthread_mutex_unlock(&lock);
  }
  if (!is(fd, FILE_)) return real(fd, data, length);
  pthread_mutex_lock(&lock);
  off_t at = fcntl(fd, F_GETFL) & O_APPEND ? size_of(fd) : lseek(fd, 0, SEEK_CUR);
  ssize_t done = no_room(fd, at, length) ? -1 : real(fd, data, length);
  if (done > 0) note('W', number(fd), at, data, done);
  pthread_mutex_unlock(&lock);
  return done;
}
#define TRUNCATE(name, size_type)                            \
  int name(int fd, size_type size) {                         \
    REAL(#name, int (*)(int, size_type));                    \
    int done = real(fd, size);                               \
    if (!done && is(fd, FILE_)) note('T', number(fd), size, "", 0); \
    return done;                                             \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                             \
  int name(int fd) {                                           \
    REAL(#name, int (*)(int));                                 \
    if (!is(fd, FILE_) && !is(fd, FOLDER)) return real(fd);    \
    pthread_mutex_lock(&lock);                                 \
    int fails = ++syncs == bad_sync;                           \
    if (!fails) note(is(fd, FILE_) ? 'S' : 'D', number(fd), 0, "", 0); \
    pthread_mutex_unlock(&lock);                               \
    if (fails) errno = EIO;                                    \
    return fails ? -1 : 0; /* nothing needs to reach the real disk */ \
  }
SYNC(fsync)
SYNC(fdatasync)

int access(const char *path, int mode) {
  REAL("access", int (*)(const char *, int));
  if (below(path) && read_only && (mode & W_OK)) return errno = EROFS, -1;
  return real(path, mode);
}
int unlink(const char *path) {
  REAL("unlink", int (*)(const char *));
  if (below(path) && read_only) return errno = EROFS, -1;
  int done = real(path);
  if (!done && below(path)) note('U', 0, 0, path, strlen(path));
  return done;
}
int rename(const char *from, const char *to) {
  REAL("rename", int (*)(const char *, const char *));
  if (below(to) && read_only) return errno = EROFS, -1;
  int done = real(from, to);
  if (!done && below(to)) {
    char both[8192];
    int length = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
    note('R', 0, 0, both, length);
  }
  return done;
}
