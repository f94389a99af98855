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
 * @property {Record<string, (secret: string | import('node:crypto').KeyObject, isRevoked: IsRevoked | null) => Promise<Server>>} peers
 */

/**
 * @typedef {object} HttpContestant
 * @property {string} name
 * @property {string} framework
 * @property {'bare' | 'ours' | 'peer'} kind
 * @property {string} [peer]
 * @property {'none' | 'set' | 'memory store' | 'redis'} revocation
 * @property {boolean} [hasKeyObject] A peer whose secret is a `KeyObject` instead of a text.
 * @property {boolean} [isCold] Ours without its memory of verified tokens.
 * @property {boolean} [seldom]
 */

// Those that are built on jsonwebtoken are slow with a secret in the form that their documentation shows, a text: it
// is tried as a public key each time. So they are measured with a key object too.
const PEERS = {
  Fastify: { '@fastify/jwt': ['redis', 'set', 'none'] },
  Express: { 'express-jwt': ['set', 'redis', 'set with a key object'] },
  Hono: { 'hono/jwt': ['set', 'redis'] },
  Koa: { 'koa-jwt': ['set', 'redis', 'set with a key object'] },
  'Nest on Express': {
    'passport-jwt': ['set', 'redis', 'set with a key object'],
    '@nestjs/jwt': ['set'],
  },
  'Nest on Fastify': { 'passport-jwt': ['set with a key object'] },
}

const SET = { revocation: 'set', suffix: ', Set' }
const CHECKS = {
  none: { revocation: 'none', suffix: '' },
  set: SET,
  redis: { revocation: 'redis', suffix: ', Redis' },
  'set with a key object': { ...SET, suffix: ' (KeyObject), Set', hasKeyObject: true },
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
  const isSecond = framework === 'Nest on Fastify'
  const ours = { framework, kind: 'ours', revocation: 'none' }
  const all = [
    { name: 'bare', framework, kind: 'bare', revocation: 'none' },
    { name: 'tokenlib', ...ours },
    ...(isSecond
      ? []
      : [{ name: 'tokenlib, memory store', ...ours, revocation: 'memory store', seldom: !isFastify }]),
    ...Object.entries(PEERS[framework]).flatMap(([peer, checks]) => listPeer(framework, peer, checks)),
    ...(isSecond ? [] : [{ name: 'tokenlib, cold', ...ours, isCold: true, seldom: true }]),
    // The callback and the store on Redis are the same in every framework.
    ...(isFastify ? [{ name: 'tokenlib, callback', ...ours, revocation: 'set', seldom: true }] : []),
    ...(isFastify ? [{ name: 'tokenlib, Redis store', ...ours, revocation: 'redis', seldom: true }] : []),
  ]
  const possible = all.filter(({ revocation }) => hasRedis || revocation !== 'redis')
  return quick ? possible.filter(isNeeded) : possible
}

function listPeer(framework, peer, checks) {
  return checks.map((check) => {
    const { suffix, ...rest } = CHECKS[check]
    const isTarget = framework === 'Fastify' && check === 'redis'
    return { name: `${peer}${suffix}`, framework, kind: 'peer', peer, seldom: !isTarget, ...rest }
  })
}

// By a target. The rest is left to a full run.
function isNeeded({ name, framework, kind, revocation }) {
  if (kind === 'bare' || name === 'tokenlib') return true
  return (
    framework === 'Fastify' && (revocation === 'memory store' || (kind === 'peer' && revocation === 'redis'))
  )
}
