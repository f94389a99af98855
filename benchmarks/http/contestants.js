/**
 * @typedef {import('node:http').Server} Server
 * @typedef {import('../../dist/index.js').TokenManager} TokenManager
 */

/**
 * @typedef {(id: string) => boolean | Promise<boolean>} IsRevoked What an application asks for the `jti` of a token.
 */

/**
 * @typedef {object} Framework One route, `/me`, without a guard, with ours and with those of others.
 * @property {() => Promise<Server>} bare
 * @property {(tokens: TokenManager) => Promise<Server>} ours
 * @property {Record<string, (secret: string, isRevoked: IsRevoked | null) => Promise<Server>>} peers
 */

/**
 * @typedef {object} HttpContestant
 * @property {string} name
 * @property {string} framework
 * @property {'bare' | 'ours' | 'peer'} kind
 * @property {string} [peer]
 * @property {'none' | 'set' | 'memory store' | 'redis'} revocation
 * @property {boolean} [isCold] Ours without its memory of verified tokens.
 * @property {boolean} [seldom]
 */

const PEERS = {
  Fastify: ['@fastify/jwt'],
  Express: ['express-jwt'],
  Hono: ['hono/jwt'],
  Koa: ['koa-jwt'],
  'Nest on Express': ['passport-jwt', '@nestjs/jwt'],
  'Nest on Fastify': ['passport-jwt'],
}

/** The frameworks that are measured. */
export const FRAMEWORKS = Object.keys(PEERS)

/**
 * Who is measured in a framework. Neighbours in the list are neighbours in time.
 *
 * @param {string} framework
 * @param {{ quick: boolean, hasRedis: boolean }} options
 * @returns {HttpContestant[]}
 */
export function listContestants(framework, { quick, hasRedis }) {
  const isFastify = framework === 'Fastify'
  const ours = { framework, kind: 'ours', revocation: 'none' }
  const peers = PEERS[framework].flatMap((peer) => listPeer(framework, peer))
  const all = [
    { name: 'bare', framework, kind: 'bare', revocation: 'none' },
    { name: 'tokenlib', ...ours },
    { name: 'tokenlib, memory store', ...ours, revocation: 'memory store', seldom: !isFastify },
    { name: 'tokenlib, cold', ...ours, isCold: true, seldom: true },
    ...(isFastify ? [{ name: 'tokenlib, callback', ...ours, revocation: 'set', seldom: true }] : []),
    ...(isFastify ? [{ name: 'tokenlib, Redis store', ...ours, revocation: 'redis', seldom: true }] : []),
    ...peers,
  ]
  const possible = all.filter(({ revocation }) => hasRedis || revocation !== 'redis')
  return quick ? possible.filter((contestant) => isEssential(contestant, isFastify)) : possible
}

function listPeer(framework, peer) {
  const base = { framework, kind: 'peer', peer }
  const isTarget = framework === 'Fastify'
  return [
    { name: peer, ...base, revocation: 'none', seldom: true },
    { name: `${peer}, Set`, ...base, revocation: 'set', seldom: true },
    { name: `${peer}, Redis`, ...base, revocation: 'redis', seldom: !isTarget },
  ]
}

// What a target needs; other peers are left to a full run.
function isEssential({ name, kind, revocation }, isFastify) {
  if (isFastify)
    return (
      kind === 'bare' ||
      name === 'tokenlib' ||
      revocation === 'memory store' ||
      (kind === 'peer' && revocation === 'redis')
    )
  return kind === 'bare' || name === 'tokenlib'
}
