/* What a disk and a clock may do to a process: loaded before its libraries (LD_PRELOAD), by
   soak.py and by the measurement of the server's load.

   FAULT_SYNC=n    the n-th fsync or fdatasync answers EIO, and what was appended to that file since
                   its last sync is gone; the next ones succeed, as they do on Linux.
   FAULT_SLOW=n    every sync takes n microseconds longer, and every tenth three times as much.
   FAULT_CLOCK=n   from the n-th question for the time of day on, the answer is FAULT_JUMP seconds off. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct { dev_t dev; ino_t ino; off_t synced; } files[4096];
static int known;

static long stated(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

/* The place of an open file among those that are known, or -1 if it is none that could be torn. A
   file that is met for the first time is on the disk as it is. */
static int place(int file)
{
    struct stat now;
    if (fstat(file, &now) != 0 || !S_ISREG(now.st_mode))
        return -1;
    for (int at = 0; at < known; at++)
        if (files[at].dev == now.st_dev && files[at].ino == now.st_ino)
            return at;
    if (known == sizeof files / sizeof *files)
        return -1;
    files[known].dev = now.st_dev;
    files[known].ino = now.st_ino;
    files[known].synced = now.st_size;
    return known++;
}

/* The library opens files by this name. */
int open64(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    pthread_mutex_lock(&turn);
    if (!real)
        real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    int file = real(path, flags, mode);
    int error = errno;
    if (file >= 0)
        place(file);
    pthread_mutex_unlock(&turn);
    errno = error;
    return file;
}

static int sync_with(int (*sync)(int), int file)
{
    static atomic_long calls;
    struct stat now;
    long call = ++calls;
    usleep(stated("FAULT_SLOW") * (call % 10 == 0 ? 3 : 1));
    pthread_mutex_lock(&turn);
    int at = place(file), result = fstat(file, &now);
    if (call == stated("FAULT_SYNC")) {
        if (at >= 0 && files[at].synced < now.st_size && ftruncate(file, files[at].synced) != 0)
            abort();
        errno = EIO;
        result = -1;
    } else if ((result = sync(file)) == 0 && at >= 0) {
        files[at].synced = now.st_size;
    }
    pthread_mutex_unlock(&turn);
    return result;
}

int fsync(int file)
{
    return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fsync"), file);
}

int fdatasync(int file)
{
    return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), file);
}

int clock_gettime(clockid_t clock, struct timespec *moment)
{
    static int (*real)(clockid_t, struct timespec *);
    static long asked;
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, moment);
    long from = stated("FAULT_CLOCK");
    if (clock == CLOCK_REALTIME && from > 0 && ++asked >= from)
        moment->tv_sec += stated("FAULT_JUMP");
    return result;
}
