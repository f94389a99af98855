import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOrInstall } from './programs.js'

/** How many connections send requests, one after the other on each. */
export const CONNECTIONS = 32

/**
 * @typedef {object} Load Sends requests to a server, and counts the answers.
 * @property {string} name What it is, with its version.
 * @property {(url: string, requests: number) => Promise<Answers>} run Sends at least so many requests.
 *
 * @typedef {object} Answers
 * @property {number} requests
 * @property {number} perSecond
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
  log('There is no wrk: requests come from autocannon, and requests per second are too few.')
  return createAutocannon(tokens)
}

async function createWrk(program, tokens, folder) {
  const [script, list] = ['tokens.lua', 'tokens.txt'].map((name) => join(folder, name))
  writeFileSync(script, SCRIPT)
  writeFileSync(list, `${tokens.join('\n')}\n`)
  // It says its version, and then that it has been used the wrong way.
  const version = await execute(program, ['-v']).catch((error) => error)
  /** @type {Map<string, number>} */
  const sent = new Map()
  return {
    name: /^wrk \S+/.exec(version.stdout)?.[0] ?? 'wrk',
    async run(url, requests) {
      const options = ['-t1', `-c${CONNECTIONS}`, '-d600s', '--timeout', '10s', '-s', script]
      // Each server gets the tokens in turn, from one call to the next.
      const start = sent.get(url) ?? 0
      const running = execute(program, [...options, url, '--', list, String(requests), String(start)])
      // It only knows how to run for a time, so its script says when there were enough. On a busy machine the first
      // signal may come before wrk listens for it.
      let repeat = null
      running.child.stderr.once('data', () => {
        running.child.kill('SIGINT')
        repeat = setInterval(() => running.child.kill('SIGINT'), 200)
      })
      const { stdout } = await running.finally(() => clearInterval(repeat))
      const answers = parseWrk(stdout)
      sent.set(url, (start + answers.requests) % tokens.length)
      return answers
    },
  }
}

async function createAutocannon(tokens) {
  const { default: autocannon } = await import('autocannon')
  const list = tokens.map((token) => ({ method: 'GET', headers: { authorization: `Bearer ${token}` } }))
  const share = Math.ceil(list.length / CONNECTIONS)
  return {
    name: 'autocannon',
    async run(url, requests) {
      let clients = 0
      // Each connection has tokens of its own: to prepare all of them for all connections takes longer than a round.
      const setupClient = (client) => {
        const at = clients++ % CONNECTIONS
        client.setRequests(list.slice(at * share, (at + 1) * share))
      }
      const result = await autocannon({ url, connections: CONNECTIONS, amount: requests, setupClient })
      const failures = result.non2xx + result.errors + result.timeouts
      if (failures > 0) throw new Error(`${failures} answers were no 2xx`)
      const answers = result['2xx']
      return { requests: answers, perSecond: answers / result.duration }
    },
  }
}

/**
 * The figures in what `wrk` prints. Throws when an answer was no 2xx or 3xx, or when there was none.
 *
 * @param {string} text
 * @returns {Answers}
 */
export function parseWrk(text) {
  const refused = /Non-2xx or 3xx responses: (\d+)/.exec(text)
  if (refused !== null) throw new Error(`${refused[1]} answers were no 2xx`)
  const failed = /Socket errors: .*/.exec(text)
  if (failed !== null) throw new Error(failed[0])
  const requests = Number(/^ +(\d+) requests in /m.exec(text)?.[1])
  const perSecond = Number(/^Requests\/sec: +([\d.]+)/m.exec(text)?.[1])
  if (!(requests > 0 && perSecond > 0)) throw new Error(`wrk printed no figures:\n${text}`)
  return { requests, perSecond }
}

const execute = promisify(execFile)

// Requests are made once: what wrk does per request must not be what is measured.
const SCRIPT = `
local requests = {}
local at, sent, enough = 0, 0, 0

function init(args)
  enough = tonumber(args[2])
  at = tonumber(args[3])
  for token in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format('GET', nil, { Authorization = 'Bearer ' .. token })
  end
end

function request()
  sent = sent + 1
  if sent == enough then io.stderr:write('enough') end
  at = at % #requests + 1
  return requests[at]
end
`
