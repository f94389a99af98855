import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DATABASE_PARENT } from './database-parent.js'

/** The user that a server runs as, when it is not the user of the tests. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** A temporary folder, and a guard outside of this process that cleans up after it. */
export interface GuardedFolder {
  readonly path: string
  /** Tells the guard which process to end with this one; null for none. */
  watch(pid: number | null): void
  remove(): Promise<void>
}

/**
 * Makes a temporary folder whose server cannot outlive this process.
 *
 * Exit handlers do not run in a process that was killed. So a shell waits on a pipe that only this process
 * holds open: however it dies, the kernel closes the pipe, and the shell ends the server and removes the folder.
 * SIGCONT is for a server that a test froze: it would not see the signal before. A browser's children live a little
 * longer than it does, and write: so the folder is removed until it stays away.
 */
export function createGuardedFolder(prefix: string, signal: 'QUIT' | 'KILL', owner?: Owner): GuardedFolder {
  const path = mkdtempSync(join(DATABASE_PARENT, prefix))
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
  // A session of its own: the Ctrl-C of a terminal goes to all of a group, and the guard must outlive it.
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', path, signal], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  guard.stdin.on('error', () => undefined)
  return {
    path,
    watch: (pid) => void guard.stdin.write(`${pid ?? ''}\n`),
    async remove() {
      await rm(path, { recursive: true, force: true, maxRetries: 5 })
      guard.stdin.end('\n')
    },
  }
}

const GUARD = `
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -s "$2" "$pid"
  kill -s CONT "$pid"
  tries=0
  while [ "$2" != KILL ] && kill -0 "$pid" && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL "$pid"
fi
tries=0
while rm -rf "$1"; sleep 0.1; [ -e "$1" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); done
`
