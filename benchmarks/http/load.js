import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOrInstall } from '../find-program.js'
import { parseWrk } from './parse-wrk.js'

/** How many connections send requests, one after the other on each. */
export const CONNECTIONS = 32

/**
 * @typedef {object} Load Sends requests to a server, and counts the answers.
 * @property {string} name What it is, with its version.
 * @property {(url: string, seconds: number) => Promise<import('../group.js').Sample>} run
 */

/**
 * A load of requests that carry one token after the other: with `wrk` where it is or can be installed, else with
 * `autocannon`. An answer that is no 2xx is an error.
 *
 * @param {readonly string[]} tokens
 * @param {string} folder For the files that it needs.
 * @param {(line: string) => void} log
 * @returns {Promise<Load>}
 */
export async function createLoad(tokens, folder, log) {
  const wrk = await findOrInstall(['wrk'], 'wrk', log)
  if (wrk !== null) return createWrk(wrk, tokens, folder)
  // It is about as slow as the servers it is to measure, so that a fast one has to wait for it as a slow one does.
  log('There is no wrk. With autocannon, ratios to a bare server come out better than they are.')
  return createAutocannon(tokens)
}

async function createWrk(program, tokens, folder) {
  const [script, list] = ['tokens.lua', 'tokens.txt'].map((name) => join(folder, name))
  writeFileSync(script, SCRIPT)
  writeFileSync(list, `${tokens.join('\n')}\n`)
  // It says its version, and then that it has been used the wrong way.
  const { stdout } = await execute(program, ['-v']).catch((error) => error)
  return {
    name: /^wrk \S+/.exec(stdout)?.[0] ?? 'wrk',
    async run(url, seconds) {
      const options = [
        '-t1',
        `-c${CONNECTIONS}`,
        `-d${seconds}s`,
        '--latency',
        '--timeout',
        '10s',
        '-s',
        script,
      ]
      const result = await execute(program, [...options, url, '--', list])
      return parseWrk(result.stdout)
    },
  }
}

async function createAutocannon(tokens) {
  const { default: autocannon } = await import('autocannon')
  const requests = tokens.map((token) => ({ method: 'GET', headers: { authorization: `Bearer ${token}` } }))
  const share = Math.ceil(requests.length / CONNECTIONS)
  return {
    name: 'autocannon',
    async run(url, seconds) {
      let clients = 0
      // Each connection has tokens of its own: to prepare all of them for all connections takes longer than a round.
      const setupClient = (client) => {
        const at = clients++ % CONNECTIONS
        client.setRequests(requests.slice(at * share, (at + 1) * share))
      }
      const result = await autocannon({ url, connections: CONNECTIONS, duration: seconds, setupClient })
      const failures = result.non2xx + result.errors + result.timeouts
      if (failures > 0) throw new Error(`${failures} answers were no 2xx`)
      const { p50, p99 } = result.latency
      return { perSecond: result['2xx'] / result.duration, p50, p99 }
    },
  }
}

const execute = promisify(execFile)

// Requests are made once: what wrk does per request must not be what is measured.
const SCRIPT = `
local requests = {}
local at = 0

function init(args)
  for token in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format('GET', nil, { Authorization = 'Bearer ' .. token })
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
`
