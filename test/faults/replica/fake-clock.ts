import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A clock of the day that a process has for itself, by libfaketime. */
export interface FakeClock {
  /** What the process must be started with. */
  readonly environment: Readonly<Record<string, string>>
  /** Sets the clock so many seconds ahead, or back. */
  set(seconds: number): void
}

/** A clock for one process, which is kept in a file; `null` on a machine without libfaketime (Debian: `libfaketime`). */
export function createFakeClock(file: string): FakeClock | null {
  const library = findLibrary()
  if (library === null) return null
  const set = (seconds: number): void => {
    // At once: the process may be reading it.
    writeFileSync(`${file}.next`, `${seconds < 0 ? '' : '+'}${seconds}`)
    renameSync(`${file}.next`, file)
  }
  set(0)
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      // A clock that is set does not change the time that has passed.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
  }
}

function findLibrary(): string | null {
  if (!existsSync('/usr/lib')) return null
  const paths = readdirSync('/usr/lib').map((name) => join('/usr/lib', name, 'faketime/libfaketimeMT.so.1'))
  return paths.find((path) => existsSync(path)) ?? null
}
