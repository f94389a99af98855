import { toDifference, toRatio } from './figures.js'

/**
 * @typedef {import('./figures.js').Group} Group
 * @typedef {{ median: number, low: number, high: number }} Spread
 */

const OTHER_FRAMEWORKS = ['Express', 'Koa', 'Hono', 'Nest on Express']
const [IN_MEMORY, IN_REPLICA] = [
  'tokenlib, a million revoked in memory',
  'tokenlib, Redis through a replica, a million revoked',
]

/**
 * The results of a run in plain sentences, as a Markdown list. Leaves out what the run did not measure.
 *
 * Claims a difference only if its spread is above zero. Otherwise the sentence reports noise, and still shows the spread.
 *
 * @param {readonly Group[]} groups
 * @param {Record<string, Record<string, number>[]>} memory
 */
export function describeGains(groups, memory) {
  const find = (group, name) =>
    groups.find(({ id }) => id === group)?.figures.find((figure) => figure.name === name) ?? null
  const sentences = [
    describeGuard(find),
    describeRevocations(find),
    describeRedis(find),
    describeNewTokens(find),
    describeCreating(find),
    describeMemory(memory['revoked tokens'] ?? []),
    describeImport(find),
  ]
  return sentences
    .filter((sentence) => sentence !== null)
    .map((sentence) => `- ${sentence}`)
    .join('\n')
}

function describeGuard(find) {
  const measure = (title) => compare(find(`http ${title}`, 'tokenlib'), find(`http ${title}`, 'bare'))
  const fastify = measure('Fastify')
  if (fastify === null) return null
  const first = isMore(fastify)
    ? `**In Fastify, a guarded request costs ${toTime(fastify.median)} more than an open one** (${toRange(fastify)}).`
    : `**In Fastify, the cost of the guard is within the noise** (${toRange(fastify)}).`
  const others = OTHER_FRAMEWORKS.flatMap((title) => {
    const spread = measure(title)
    return spread === null ? [] : [{ title, spread }]
  })
  const dearer = others
    .filter(({ spread }) => isMore(spread))
    .map(({ title, spread }) => `${toTime(spread.median)} in ${title} (${toRange(spread)})`)
  const equal = others
    .filter(({ spread }) => !isMore(spread))
    .map(({ title, spread }) => `${title} (${toRange(spread)})`)
  return [
    first,
    ...(dearer.length > 0 ? [`The guard adds ${toList(dearer)}.`] : []),
    ...(equal.length > 0 ? [`Within the noise: ${toList(equal)}.`] : []),
  ].join(' ')
}

function describeRevocations(find) {
  const own = find('http Fastify', 'tokenlib')
  const [memory, replica] = [IN_MEMORY, IN_REPLICA].map((name) => compare(find('http Fastify', name), own))
  if (memory === null) return null
  const more = replica === null ? '' : ` and ${toAdded(replica)} with a Redis replica`
  return `**Checking against a million revocations adds ${toAdded(memory)}** with the memory store${more}.`
}

function describeRedis(find) {
  const [own, peer] = [
    find('http Fastify', 'tokenlib, Redis store'),
    find('http Fastify', '@fastify/jwt, Redis GET'),
  ]
  const replica = find('http Fastify', IN_REPLICA)
  if (own === null || peer === null || replica === null) return null
  return [
    `**A request with a Redis lookup costs ${toTime(own.cost)}**, including Fastify itself.`,
    `With \`@fastify/jwt\` and one Redis \`GET\`, it costs ${toTime(peer.cost)}: ${toTimesAsMuch(own, peer)}.`,
    `With a replica, which needs no round trip, it costs ${toTime(replica.cost)}.`,
  ].join(' ')
}

function describeNewTokens(find) {
  const group = 'http Fastify, tokens never seen before'
  const read = (name) => compare(find(group, name), find(group, 'bare'))
  const [own, peer, memory, replica] = ['tokenlib', '@fastify/jwt', IN_MEMORY, IN_REPLICA].map(read)
  if (own === null || peer === null) return null
  const checked = [
    ...(memory === null ? [] : [`${toAdded(memory)} with the memory store`]),
    ...(replica === null ? [] : [`${toAdded(replica)} with a Redis replica`]),
  ]
  return [
    `**A token that the process has not seen before adds ${toAdded(own)}** to an open request in Fastify.`,
    ...(checked.length > 0
      ? [`With a million revocations to check against, it adds ${toList(checked)}.`]
      : []),
    `\`@fastify/jwt\`, which does not check revocations, adds ${toAdded(peer)}.`,
  ].join(' ')
}

function describeCreating(find) {
  const group = 'create HS256 with two extra claims'
  const [own, peer] = [find(group, 'tokenlib'), find(group, 'fast-jwt')]
  if (own === null || peer === null) return null
  return `**Creating an access token takes ${toTime(own.cost)}.** \`fast-jwt\` takes ${toTime(peer.cost)}: ${toTimesAsMuch(own, peer)}.`
}

function describeMemory(rows) {
  const [none, million] = [0, 1_000_000].map((count) => rows.find(({ revoked }) => revoked === count))
  if (none === undefined || million === undefined) return null
  const grown = (name) => Math.round(million[name] - none[name])
  return `**A million revoked tokens take ${grown('buffers, MB')} MB** in the memory store. The process that revoked them was ${grown('RSS, MB')} MB larger than one without revocations.`
}

function describeImport(find) {
  const [own, peer] = [find('import', 'tokenlib'), find('import', 'jose')]
  if (own === null || peer === null) return null
  return `**Importing \`tokenlib\` takes ${toTime(own.cost)}.** \`jose\` takes ${toTime(peer.cost)}: ${toTimesAsMuch(own, peer)}.`
}

function compare(own, other) {
  return own === null || other === null ? null : toDifference(own.samples, other.samples)
}

/** @param {Spread} spread */
function isMore({ low }) {
  return low > 0
}

function toAdded(spread) {
  const added = isMore(spread) ? toTime(spread.median) : 'nothing measurable'
  return `${added} (${toRange(spread)})`
}

function toTimesAsMuch(own, peer) {
  const { median, low, high } = toRatio(own.samples, peer.samples)
  const spread = `${low.toFixed(2)} to ${high.toFixed(2)}`
  return low <= 1 && high >= 1
    ? `no measurable difference (${spread} times as much)`
    : `${median.toFixed(2)} times as much (${spread})`
}

function toTime(microseconds) {
  return toRange({ low: microseconds, high: microseconds })
}

function toRange({ low, high }) {
  const [divisor, unit] = high >= 10_000 ? [1000, 'ms'] : [1, 'µs']
  const [from, to] = [low, high].map((value) => toNumber(value / divisor))
  return low === high ? `${to} ${unit}` : `${from} to ${to} ${unit}`
}

function toNumber(value) {
  const text = Math.abs(value).toFixed(Math.abs(value) < 10 ? 1 : 0)
  return value < 0 && Number(text) !== 0 ? `−${text}` : text
}

function toList(parts) {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}
