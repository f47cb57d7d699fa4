/* Preloaded into a server by the checker: a wall clock that is off, a disk that is full or does not
 * keep what it is given, and an address to connect from. Clocks that count from a start are left
 * alone, and so are files that are not of the data directory.
 *
 *   THRONG_SHIM_CONTROL   the file that says what is wrong at present: struct control
 *   THRONG_SHIM_DATA      the data directory, with a slash at its end
 *   THRONG_SHIM_SOURCE    the address to connect from
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
    volatile int64_t seconds; /* added to the wall clock */
    volatile uint32_t disk;   /* SOUND, FULL or FAILING */
    volatile uint32_t failed; /* the number of calls that were made to fail */
};

enum { SOUND, FULL, FAILING };

static struct control sound;
static struct control *control = &sound;
static const char *data;
static struct sockaddr_in source;

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("THRONG_SHIM_CONTROL"), *from = getenv("THRONG_SHIM_SOURCE");
    /* No server outlives the checker, however that ends. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (from && inet_pton(AF_INET, from, &source.sin_addr) == 1)
        source.sin_family = AF_INET;
    int fd = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *page = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return;
    data = getenv("THRONG_SHIM_DATA");
    control = page;
}

#define REAL(name)                                 \
    static __typeof__(&name) real;                 \
    if (!real)                                     \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int fails(int code) {
    __atomic_add_fetch(&control->failed, 1, __ATOMIC_RELAXED);
    errno = code;
    return -1;
}

static int ours(const char *path) {
    return data && strncmp(path, data, strlen(data)) == 0;
}

/* True if the disk is like that, and the file is one of the data directory. */
static int hit(uint32_t disk, int fd) {
    char link[32], path[4096];
    if (control->disk != disk)
        return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0)
        return 0;
    path[length] = 0;
    return ours(path);
}

/* The wall clock. */

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += control->seconds;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday);
    int result = real(now, zone);
    if (result == 0)
        now->tv_sec += control->seconds;
    return result;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}

/* A disk that is full. */

#define WRITES(name, parameters, arguments)        \
    ssize_t name parameters {                      \
        REAL(name);                                \
        return hit(FULL, fd) ? fails(ENOSPC) : real arguments; \
    }

/* The last room on a disk takes a part of what is written: every second write gets half of it in. */
static int half(size_t count) {
    static unsigned writes;
    return count > 1 && __atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED) % 2 == 0;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(write);
    if (!hit(FULL, fd))
        return real(fd, bytes, count);
    return half(count) ? real(fd, bytes, count / 2) : fails(ENOSPC);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    REAL(pwrite64);
    if (!hit(FULL, fd))
        return real(fd, bytes, count, at);
    return half(count) ? real(fd, bytes, count / 2, at) : fails(ENOSPC);
}

WRITES(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITES(pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
WRITES(pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
WRITES(pwritev64, (int fd, const struct iovec *parts, int count, off64_t at),
       (fd, parts, count, at))

#define GROWS(name, parameters, arguments)         \
    int name parameters {                          \
        REAL(name);                                \
        return hit(FULL, fd) ? fails(ENOSPC) : real arguments; \
    }

GROWS(fallocate, (int fd, int mode, off_t at, off_t count), (fd, mode, at, count))
GROWS(fallocate64, (int fd, int mode, off64_t at, off64_t count), (fd, mode, at, count))
GROWS(ftruncate, (int fd, off_t length), (fd, length))
GROWS(ftruncate64, (int fd, off64_t length), (fd, length))

int posix_fallocate(int fd, off_t at, off_t count) {
    REAL(posix_fallocate);
    return hit(FULL, fd) ? (fails(ENOSPC), ENOSPC) : real(fd, at, count);
}

/* A new file takes room as well; one that is there opens. */
static int makes(const char *path, int flags) {
    if (control->disk != FULL || !(flags & O_CREAT) || !ours(path))
        return 0;
    int before = errno, there = access(path, F_OK) == 0;
    errno = before;
    return !there;
}

#define MODE                                       \
    va_list rest;                                  \
    va_start(rest, flags);                         \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest)

#define OPENS(name)                                \
    int name(const char *path, int flags, ...) {   \
        REAL(name);                                \
        MODE;                                      \
        return makes(path, flags) ? fails(ENOSPC) : real(path, flags, mode); \
    }

#define OPENS_AT(name)                             \
    int name(int at, const char *path, int flags, ...) { \
        REAL(name);                                \
        MODE;                                      \
        return makes(path, flags) ? fails(ENOSPC) : real(at, path, flags, mode); \
    }

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return makes(path, O_CREAT) ? fails(ENOSPC) : real(path, mode);
}

/* A disk that does not keep what it is given. */

#define SYNCS(name, parameters, arguments)         \
    int name parameters {                          \
        REAL(name);                                \
        return hit(FAILING, fd) ? fails(EIO) : real arguments; \
    }

SYNCS(fsync, (int fd), (fd))
SYNCS(fdatasync, (int fd), (fd))
SYNCS(sync_file_range, (int fd, off64_t at, off64_t count, unsigned how), (fd, at, count, how))

/* Every party connects from an address of its own, so that a relay knows who it is. */

int connect(int fd, const struct sockaddr *to, socklen_t length) {
    REAL(connect);
    if (source.sin_family && to && to->sa_family == AF_INET) {
        int before = errno;
        bind(fd, (const struct sockaddr *)&source, sizeof source);
        errno = before;
    }
    return real(fd, to, length);
}
