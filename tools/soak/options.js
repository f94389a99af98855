import { parseArgs } from 'node:util'

/** How the command is called. */
export const USAGE =
  'node tools/soak --minutes N [--rate R] [--processes P] [--store redis|postgres|both] [--verified-cache N] [--json file]\n' +
  'node tools/soak --report <samples.ndjson> [--json file]'

const STORES = { redis: ['redis'], postgres: ['postgres'], both: ['redis', 'postgres'] }

/** The options of a run, or a text that says what is wrong with the arguments. */
export function readOptions(args) {
  let values
  try {
    values = parseArgs({
      args,
      options: {
        minutes: { type: 'string' },
        rate: { type: 'string', default: '100' },
        processes: { type: 'string', default: '2' },
        store: { type: 'string', default: 'both' },
        // Fills up before the warm-up ends. The library's default of 10,000 takes half an hour, which looks like a leak.
        'verified-cache': { type: 'string', default: '500' },
        report: { type: 'string' },
        json: { type: 'string' },
      },
    }).values
  } catch (error) {
    return `${error.message}\n${USAGE}`
  }
  const json = values.json ?? null
  if (values.report !== undefined) return { report: values.report, json }
  const [minutes, rate, processes] = [values.minutes, values.rate, values.processes].map(Number)
  const verifiedCache = Number(values['verified-cache'])
  if (!(minutes > 0)) return `--minutes must be a number above 0\n${USAGE}`
  if (!(rate >= 1 && rate <= 10_000)) return `--rate must be 1 to 10000 requests per second, in all\n${USAGE}`
  if (!(Number.isInteger(processes) && processes >= 1 && processes <= 16)) {
    return `--processes must be 1 to 16 for each store\n${USAGE}`
  }
  if (!Object.hasOwn(STORES, values.store)) return `--store must be redis, postgres or both\n${USAGE}`
  if (!(Number.isInteger(verifiedCache) && verifiedCache >= 0)) {
    return `--verified-cache must be a number of tokens, 0 for none\n${USAGE}`
  }
  return { minutes, rate, processes, verifiedCache, stores: STORES[values.store], json }
}

/** What the applications and the load agree on. Short, so that a run of 20 minutes sees all of them end. */
export const ACCESS_SECONDS = 60
export const REFRESH_SECONDS = 180
export const BOUND_MS = 1000
/** A refresh token that was used is accepted again for so long, by a client that lost the answer. */
export const GRACE_SECONDS = 5
export const SAMPLE_INTERVAL_MS = 10_000
/** The part of a run in which caches fill and the first entries have not ended yet. */
export const WARM_UP_MINUTES = 10
