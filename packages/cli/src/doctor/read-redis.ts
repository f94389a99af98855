import { CommandError } from '../exit.js'
import type { RedisProbe } from '../opened-store.js'
import { inspectRedis, type RedisInspection, type RedisReply, type RedisRights } from 'tokenlib/redis'
import { readRefusal } from './check-store.js'
import type { Endpoint } from './endpoint.js'
import { type ClockDifference, type Latency, measureClock, measureLatency } from './measure.js'

/** What `doctor` knows about a Redis server; `null` for what the connection's user may not see. */
export interface RedisFacts {
  /** The lines of INFO. */
  readonly info: ReadonlyMap<string, string> | null
  /** `appendfsync`. */
  readonly fsync: string | null
  readonly minReplicas: number | null
  /** Why the store would not start, or `null`. */
  readonly refusal: string | null
  readonly write: RedisRights
  /** The state of the namespace. */
  readonly history: 'whole' | 'damaged' | 'absent' | null
  readonly entries: number | null
  /** The node that has the namespace, if that is another node of a cluster. */
  readonly movedTo: string | null
  readonly latency: Latency | null
  readonly clock: ClockDifference | null
  readonly endpoint: Endpoint
}

/** Reads everything that the checks need. Nothing is written. */
export async function readRedis(
  probe: RedisProbe,
  namespace: string,
  endpoint: Endpoint,
): Promise<RedisFacts> {
  const client = {
    call: (command: string, args: string[]) => probe.command(command, ...args).catch(unwrap),
  }
  const inspection = inspectRedis(client, { namespace })
  let movedTo: string | null = null
  const attempt = async <Answer>(run: () => Promise<Answer>): Promise<Answer | null> => {
    try {
      return await run()
    } catch (error) {
      if (!isAnswer(error)) throw error
      movedTo = /^MOVED \d+ (\S+)/.exec(error.message)?.[1] ?? movedTo
      return null
    }
  }

  const info = await attempt(() => inspection.send('INFO'))
  const refusal = await readRefusal(() => inspection.assertUsable(), isAnswer)
  const [history, entries] = (await attempt(() => inspection.readHistory())) ?? [null, null]
  return {
    info: typeof info === 'string' ? toLines(info) : null,
    fsync: await attempt(() => readSetting(probe, 'appendfsync')),
    minReplicas: toNumber(await attempt(() => readSetting(probe, 'min-replicas-to-write'))),
    refusal,
    write: await readRights(inspection),
    history,
    entries,
    latency: await attempt(() => measureLatency(() => inspection.lookup())),
    clock: await attempt(() => measureClock(async () => toMilliseconds(await inspection.send('TIME')))),
    movedTo,
    endpoint,
  }
}

async function readRights(inspection: RedisInspection): Promise<RedisRights> {
  try {
    return await inspection.readRights()
  } catch (error) {
    if (!isAnswer(error)) throw error
    return { error: error.message, deniedCommands: [], mayPublish: true }
  }
}

async function readSetting(probe: RedisProbe, name: string): Promise<string | null> {
  const answer = await probe.command('CONFIG', 'GET', name).catch(unwrap)
  // Version 2 of the protocol returns a list of names and values, version 3 a map.
  const pairs: unknown = answer instanceof Map ? Object.fromEntries(answer) : answer
  const value: unknown = Array.isArray(pairs) ? pairs[1] : (pairs as Record<string, unknown> | null)?.[name]
  return typeof value === 'string' ? value : null
}

// The command line wraps client errors as connection failures; an error reply from the server is not one.
function unwrap(error: unknown): never {
  throw error instanceof CommandError && isAnswer(error.cause) ? error.cause : error
}

// An answer of the server (NOPERM, READONLY, MOVED …), not a connection that failed.
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && /^-?[A-Z]+ /.test(error.message)
}

function toLines(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

function toMilliseconds(time: RedisReply): number {
  const [seconds, microseconds] = Array.isArray(time) ? time.map(Number) : []
  return (seconds ?? Number.NaN) * 1000 + (microseconds ?? 0) / 1000
}

function toNumber(text: string | null): number | null {
  return text === null ? null : Number(text)
}
