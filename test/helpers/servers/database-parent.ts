import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const NEEDED_BYTES = 4 * 1024 ** 3

/**
 * The folder for the temporary folders of databases: in memory, if there is room.
 *
 * A database waits for its disk at every write. Memory outlives a killed process as a disk does, and no test turns the
 * machine off.
 */
export const DATABASE_PARENT = existsSync(MEMORY) && readFreeBytes(MEMORY) > NEEDED_BYTES ? MEMORY : tmpdir()

function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}
