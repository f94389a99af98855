import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FakeClock } from './fake-clock.js'

/** A clock of the day that servers have for themselves. */
export interface ServerClock extends FakeClock {
  remove(): void
}

/**
 * A clock for servers that libfaketime ends in a loop, such as a Redis with jemalloc, which reads the clock before
 * libfaketime has found the real one; `null` on a machine without a C compiler.
 */
export function createServerClock(): ServerClock | null {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-clock-'))
  const [source, library, file] = ['clock.c', 'clock.so', 'lead'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(source, SOURCE)
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source], { stdio: 'ignore' })
  } catch {
    rmSync(folder, { recursive: true })
    return null
  }
  // The servers map the file, so it is written in place.
  const opened = openSync(file, 'w+')
  const set = (seconds: number): void => {
    const lead = Buffer.alloc(8)
    lead.writeBigInt64LE(BigInt(seconds))
    writeSync(opened, lead, 0, 8, 0)
  }
  set(0)
  return {
    environment: { LD_PRELOAD: library, SERVER_CLOCK_FILE: file },
    set,
    remove() {
      closeSync(opened)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

// By system calls, without a search for the functions that these replace. The monotonic clock stays as it is.
const SOURCE = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *lead;

__attribute__((constructor)) static void open_lead(void) {
  const char *path = getenv("SERVER_CLOCK_FILE");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *mapped = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) lead = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (lead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *lead;
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec time;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec found;
  clock_gettime(CLOCK_REALTIME, &found);
  if (now) *now = found.tv_sec;
  return found.tv_sec;
}
`
