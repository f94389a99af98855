import type { Process } from './machine.js'
import type { Random } from './random.js'
import type { Timeline } from './timeline.js'

/** How messages fare between a process and a server. */
export interface Conditions {
  /** The usual time of a message in one direction. */
  readonly delayMs: number
  /** The chance that a message is lost: the connection breaks, or nobody notices. */
  readonly loss: number
  /** The chance that a request arrives twice, as when a client sends it again on a new connection; in either order. */
  readonly duplication: number
  /** The chance that a message takes many times as long. */
  readonly straggling: number
}

/** What happens to messages of a link while it is disturbed. */
export type Disturbance =
  /** They are lost, and the connection breaks. */
  | 'cut'
  /** They are lost, and nobody is told. */
  | 'half-open'
  /** Requests arrive, answers are lost. */
  | 'deaf'

/** A link from one process to one server. */
export interface Link {
  /** Sends a request; `run` is what the server does. Settles with its answer, with an error, or never. */
  send<Value>(run: () => Promise<Value>): Promise<Value>
  /** A message of the server that nobody waits for, and nobody misses. */
  notify(run: () => void): void
  disturb(how: Disturbance | null): void
  /** Whether its process has ended. */
  isClosed(): boolean
}

/** What a link needs to know of the server. */
export interface Peer {
  /** Whether it is there at all; a connection to one that is not is refused. */
  readonly isUp: () => boolean
  /** How long it takes before it begins, in addition to its work; `null` if it hangs. */
  readonly readSlownessMs: () => number | null
}

const BROKEN = 'The connection was closed'
const REFUSED = 'The connection was refused'
const STRAGGLER = 20
// A client that nobody tells about a lost message finds out after this time, by its keep-alive.
const KEEP_ALIVE_MS = 15_000

/** A link between a process and a server. */
export function createLink(
  timeline: Timeline,
  random: Random,
  client: Process,
  peer: Peer,
  { delayMs, loss, duplication, straggling }: Conditions,
): Link {
  let disturbance: Disturbance | null = null

  const after = (milliseconds: number, run: () => void): void =>
    void timeline.at(timeline.now() + milliseconds, run)

  const drawDelay = (): number =>
    delayMs * (0.5 + random.interval(0.5)) * (random.chance(straggling) ? STRAGGLER : 1)

  const fail = ({ reject }: Call, message: string, milliseconds: number): void =>
    after(milliseconds, () => client.deliver(() => reject(new Error(message))))

  const lose = (call: Call): void =>
    disturbance === 'cut' || random.chance(0.5)
      ? fail(call, BROKEN, drawDelay())
      : fail(call, 'The connection timed out', KEEP_ALIVE_MS)

  const answer = (call: Call, settle: () => void): void => {
    if (disturbance !== null || random.chance(loss)) return lose(call)
    after(drawDelay(), () => client.deliver(settle))
  }

  const arrive = (call: Call): void => {
    if (!peer.isUp()) return fail(call, REFUSED, drawDelay())
    const slowness = peer.readSlownessMs()
    if (slowness === null) return fail(call, BROKEN, KEEP_ALIVE_MS)
    if (slowness === 0) carryOut(call)
    else after(slowness, () => carryOut(call))
  }

  const carryOut = (call: Call): void => {
    const { run, isRepeated, resolve, reject } = call
    if (!peer.isUp()) return fail(call, BROKEN, drawDelay())
    // The connection breaks, and the client sends the same request again on a new one. The server has carried it out, or
    // reads it from the old connection when it has already carried out the second.
    if (!isRepeated && random.chance(duplication)) {
      const lateMs = random.chance(0.5) ? 0 : delayMs * random.between(2, STRAGGLER)
      after(lateMs, () => peer.isUp() && void run().catch(() => undefined))
      return after(2 * drawDelay(), () => arrive({ ...call, isRepeated: true }))
    }
    run().then(
      (value) => answer(call, () => resolve(value)),
      (error: unknown) => answer(call, () => reject(error)),
    )
  }

  return {
    disturb(how) {
      disturbance = how
    },
    send: <Value>(run: () => Promise<Value>) =>
      new Promise<Value>((resolve, reject) => {
        const call: Call = { run, resolve: resolve as Call['resolve'], reject, isRepeated: false }
        if (disturbance === 'cut' || disturbance === 'half-open' || random.chance(loss)) return lose(call)
        after(drawDelay(), () => arrive(call))
      }),
    notify(run) {
      if (disturbance !== null || random.chance(loss)) return
      after(drawDelay(), () => client.deliver(run))
    },
    isClosed: () => !client.isRunning(),
  }
}

/** A request that is under way. */
interface Call {
  readonly run: () => Promise<unknown>
  readonly isRepeated: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}
