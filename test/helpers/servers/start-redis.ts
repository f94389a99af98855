import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findRedis } from './find-servers.js'
import { createGuardedFolder } from './guarded-folder.js'
import { redisCommand } from './redis-command.js'
import { type RunningServer, startServerProcess } from './server-process.js'

/** Lines of redis.conf by name; a list repeats the name, null leaves a default out. */
export type RedisSettings = Readonly<Record<string, string | readonly string[] | null>>

/**
 * Starts a Redis of the caller's own: persistent and without eviction, unless `settings` say otherwise.
 *
 * The URL has the password of `requirepass`. With `cluster-enabled` it is a cluster of one node with all slots.
 */
export async function startRedis(
  settings: RedisSettings = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const binaries = findRedis()
  if (binaries === null) throw new Error('There is no redis-server or valkey-server on this machine.')
  const password = settings['requirepass']
  const credentials = typeof password === 'string' ? `:${encodeURIComponent(password)}@` : ''
  const url = (port: number): string => `redis://${credentials}127.0.0.1:${port}`
  const folder = createGuardedFolder('tokenlib-redis-', 'KILL')
  const file = join(folder.path, 'redis.conf')
  writeFileSync(file, toConfiguration({ ...DEFAULTS, ...settings }))
  return startServerProcess({
    command: binaries.server,
    args: (port) => [file, '--port', String(port)],
    url,
    folder,
    environment,
    endSignal: 'SIGKILL',
    ...(settings['cluster-enabled'] === 'yes' && { afterStart: (port) => formCluster(url(port)) }),
  })
}

const DEFAULTS: RedisSettings = {
  bind: '127.0.0.1',
  appendonly: 'yes',
  appendfsync: 'everysec',
  save: '',
  'maxmemory-policy': 'noeviction',
}

function toConfiguration(settings: RedisSettings): string {
  const lines = Object.entries(settings).flatMap(([name, value]) =>
    [value ?? []].flat().map((text) => `${name} ${text === '' ? '""' : text}\n`),
  )
  return lines.join('')
}

/** Gives all slots to the only node, and waits until it serves them: it does not in its first two seconds. */
async function formCluster(url: string): Promise<void> {
  const info = async (): Promise<string> => (await redisCommand(url, 'CLUSTER', 'INFO')) ?? ''
  if ((await info()).includes('cluster_slots_assigned:0')) {
    const slots = Array.from({ length: 16_384 }, (_, slot) => String(slot))
    await redisCommand(url, 'CLUSTER', 'ADDSLOTS', ...slots)
  }
  while (!(await info()).includes('cluster_state:ok')) await sleep(50)
}
