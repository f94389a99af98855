import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'

// The first pattern that a file matches.
const PARTS = [
  ['replicas that follow the feed', /src\/stores\/replica|src\/stores\/store-parts|src\/runtime/],
  ['memory store', /src\/stores\//],
  ['browser clients', /packages\/client\//],
  ['managers, tokens and routes', /packages\//],
  ['simulated time and machines', /simulation\/(timeline|machine|random|globals)/],
  ['simulated network', /simulation\/(network|messages)/],
  ['simulated server', /simulation\/(store-server|remote-store)/],
  ['history and checker', /simulation\/(history|checker)/],
  ['people and applications', /simulation\/|test\/helpers\//],
]

/** Runs something with a profiler, and tells which part of the simulation took which share of its CPU time. */
export async function profile(run) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
  const value = await run()
  const { profile: taken } = await session.post('Profiler.stop')
  session.disconnect()
  return { value, shares: toShares(taken) }
}

/** A line for each part, the largest first. */
export function describeShares(shares) {
  return [...shares]
    .toSorted(([, one], [, other]) => other - one)
    .map(([part, share]) => `  ${(100 * share).toFixed(1).padStart(5)} %  ${part}`)
}

function toShares({ nodes, samples, timeDeltas }) {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const listFiles = createFileLists()
  // Whatever Node does for a file of ours counts as that file.
  const findPart = ({ id, callFrame: { functionName, url, lineNumber } }) => {
    if (functionName === '(garbage collector)') return 'garbage collection'
    const file = url.endsWith('/bundle.mjs') ? listFiles(url)[lineNumber] : null
    if (file) return PARTS.find(([, pattern]) => pattern.test(file))?.[0] ?? file
    const parent = byId.get(parents.get(id))
    return parent === undefined ? 'Node: turns of the event loop, microtasks' : findPart(parent)
  }
  const times = new Map()
  let total = 0
  for (const [at, id] of samples.entries()) {
    const node = byId.get(id)
    if (node.callFrame.functionName === '(idle)') continue
    const part = findPart(node)
    times.set(part, (times.get(part) ?? 0) + timeDeltas[at])
    total += timeDeltas[at]
  }
  return new Map([...times].map(([part, time]) => [part, time / total]))
}

// The bundler writes the name of each file above its lines.
function createFileLists() {
  const lists = new Map()
  return (url) => {
    if (!lists.has(url)) {
      let file = null
      const lines = readFileSync(fileURLToPath(url), 'utf8').split('\n')
      lists.set(
        url,
        lines.map((line) => (file = /^\/\/ ((?:packages|test)\/\S+)$/.exec(line)?.[1] ?? file)),
      )
    }
    return lists.get(url)
  }
}
