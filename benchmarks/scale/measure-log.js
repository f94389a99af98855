import { randomBytes } from 'node:crypto'
import { loadavg } from 'node:os'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { readCpu } from '../child.js'
import { median } from '../figures.js'
import { startCountingProxy, startMeasuredServer } from './server.js'

const NAME = 'revocations'
const ROUNDS = 5
const READERS = 100

/**
 * Measures what readers of a log cost a private NATS server, as examples/extending/log-store.ts uses it: a read asks for
 * the last record, and records arrive as they are written. Figures as in `Costs`; an entry is a record.
 *
 * @param {{ calls: number, log: (line: string) => void }} options
 */
export async function measureLog({ calls, log }) {
  const server = await startMeasuredServer('nats')
  const proxy = await startCountingProxy(server.place)
  const connections = []
  const open = async ({ url }) => {
    const connection = await connect({ servers: url })
    connections.push(connection)
    return connection
  }
  try {
    const before = loadavg()[0]
    log(`${server.version}: reads`)
    const manager = await jetstreamManager(await open(server.place))
    await manager.streams.add({ name: NAME, subjects: [NAME], max_msgs: 100_000 })
    const client = jetstream(await open(server.place))
    const write = () => client.publish(NAME, createRecord())
    await write()
    const managers = []
    while (managers.length < 10) managers.push(await jetstreamManager(await open(server.place)))
    const readers = managers.map(
      ({ streams }) =>
        () =>
          streams.getMessage(NAME, { last_by_subj: NAME }),
    )
    const read = await measureRounds(server, calls, readers)
    const counted = await jetstreamManager(await open(proxy.place))
    const readBytes = await countBytes(proxy, 100, () =>
      counted.streams.getMessage(NAME, { last_by_subj: NAME }),
    )

    log('records')
    const written = await measureRounds(server, calls / 10, [write])
    const memory = (await server.readMemory()).server
    for (let number = 0; number < READERS; number++) await subscribe(await open(server.place))
    const connection = ((await server.readMemory()).server - memory) / READERS
    const delivered = await measureRounds(server, calls / 10, [write])
    await subscribe(await open(proxy.place))
    const { sent } = await countBytes(proxy, 100, write)
    const round = (value, digits = 0) => Number(value.toFixed(digits))
    return {
      version: server.version,
      load: [before, loadavg()[0]].map((load) => round(load, 1)),
      read: {
        server: round(read.server, 1),
        process: round(read.process, 1),
        received: round(readBytes.received),
        sent: round(readBytes.sent),
      },
      entry: { server: round((delivered.server - written.server) / READERS, 2), sent: round(sent) },
      wakeUp: { server: 0, sent: 0 },
      // It asks for the last record twice: before its record, and after it.
      revoke: { server: round(written.server + 2 * read.server, 1) },
      memory: { connection: round(connection) },
    }
  } finally {
    for (const connection of connections) await connection.close()
    proxy.stop()
    await server.stop()
  }
}

// CPU time of the server and of this process for a call; the calls of the list run at the same time.
async function measureRounds(server, calls, list) {
  const rounds = []
  // The first one warms up.
  while (rounds.length <= ROUNDS) {
    const [cpu, own] = [server.readCpu(), readCpu()]
    const run = async (call) => {
      for (let number = 0; number < calls / list.length; number++) await call()
    }
    await Promise.all(list.map(run))
    rounds.push({ server: (server.readCpu() - cpu) / calls, process: (readCpu() - own) / calls })
  }
  const middle = (name) => median(rounds.slice(1).map((round) => round[name]))
  return { server: middle('server'), process: middle('process') }
}

async function countBytes(proxy, calls, call) {
  const before = proxy.read()
  for (let number = 0; number < calls; number++) await call()
  const after = proxy.read()
  return {
    received: (after.received - before.received) / calls,
    sent: (after.sent - before.sent) / calls,
  }
}

async function subscribe(connection) {
  connection.subscribe(NAME, { callback: () => {} })
  await connection.flush()
}

// A revocation as the recipe writes it, between two positions of Redis.
function createRecord() {
  const createId = () => randomBytes(16).toString('base64url')
  const entry = { kind: 'session', id: createId(), notBefore: Number.MAX_SAFE_INTEGER, until: Date.now() }
  const position = `${createId()}|1000000|${createId()}|1000000`
  return JSON.stringify({ seq: 1_000_000, from: position, next: position, entries: [entry], isReset: false })
}
