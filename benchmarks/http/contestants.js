/**
 * @typedef {import('node:http').Server} Server
 * @typedef {import('tokenlib').TokenManager} TokenManager
 * @typedef {(id: string) => boolean | Promise<boolean>} IsRevoked What an application asks for the `jti` of a token.
 */

/**
 * @typedef {object} Framework One route, `/me`, in as many ways.
 * @property {() => Promise<Server>} bare
 * @property {() => Promise<Server>} empty Bare, with a hook, middleware or guard that does nothing.
 * @property {(tokens: TokenManager) => Promise<Server>} ours
 * @property {(tokens: TokenManager) => Promise<Server>} [hook] Ours as a hook of its own, before the handler.
 * @property {Record<string, (secret: string | import('node:crypto').KeyObject, isRevoked: IsRevoked | null) => Promise<Server>>} peers
 */

/**
 * @typedef {object} HttpContestant
 * @property {string} name
 * @property {string} framework
 * @property {'bare' | 'empty' | 'ours' | 'hook' | 'peer'} kind
 * @property {string} [peer]
 * @property {'none' | 'Set' | 'memory' | 'Redis' | 'replica'} revocation A replica is one of a Redis store.
 * @property {boolean} [hasKeyObject] A peer whose secret is a `KeyObject` instead of a text.
 * @property {boolean} [seldom] Measured in every third round: no target compares it.
 * @property {boolean} [isExtra] In neither a target nor the chart: only a whole run measures it.
 * @property {number} [revokedCount] How many tokens are revoked in memory, if not a million.
 */

/**
 * @typedef {object} HttpGroup
 * @property {string} title
 * @property {string} framework
 * @property {boolean} [hasNewTokens] Whether requests carry tokens that nobody remembers.
 * @property {HttpContestant[]} contestants Neighbours in the list are neighbours in time.
 */

const BARE = { name: 'bare', kind: 'bare', revocation: 'none' }
const EMPTY = { name: 'bare, empty hook', kind: 'empty', revocation: 'none' }
const OURS = { name: 'tokenlib', kind: 'ours', revocation: 'none' }
const IN_MEMORY = { name: 'tokenlib, a million revoked in memory', kind: 'ours', revocation: 'memory' }
const IN_REDIS = { name: 'tokenlib, Redis store', kind: 'ours', revocation: 'Redis' }
const IN_REPLICA = {
  name: 'tokenlib, Redis through a replica, a million revoked',
  kind: 'ours',
  revocation: 'replica',
}
const SELDOM = { seldom: true }
const EXTRA = { seldom: true, isExtra: true }

const NEEDS_REDIS = new Set(['Redis', 'replica'])

const GROUPS = [
  {
    title: 'Fastify',
    contestants: [
      BARE,
      EMPTY,
      OURS,
      IN_MEMORY,
      IN_REPLICA,
      IN_REDIS,
      toPeer('@fastify/jwt', 'Redis', {}),
      { ...OURS, name: 'tokenlib as a hook', kind: 'hook', ...EXTRA },
      { ...OURS, name: 'tokenlib, callback with a Set', revocation: 'Set', ...EXTRA },
      toPeer('@fastify/jwt', 'none', EXTRA),
      toPeer('@fastify/jwt', 'Set', EXTRA),
    ],
  },
  {
    title: 'Fastify, tokens never seen before',
    framework: 'Fastify',
    hasNewTokens: true,
    contestants: [
      BARE,
      toPeer('by hand', 'none', {}),
      OURS,
      IN_MEMORY,
      IN_REPLICA,
      toPeer('@fastify/jwt', 'none', {}),
    ],
  },
  createGroup('Express', 'express-jwt'),
  createGroup('Koa', 'koa-jwt'),
  {
    title: 'Hono',
    contestants: [
      BARE,
      EMPTY,
      OURS,
      { ...IN_MEMORY, ...SELDOM },
      toPeer('hono/jwt', 'Redis', SELDOM),
      toPeer('hono/jwt', 'Set', EXTRA),
    ],
  },
  createGroup('Nest on Express', 'passport-jwt', toPeer('@nestjs/jwt', 'Set', EXTRA)),
]

// Peers that are built on jsonwebtoken are slow with a secret in the form that their documentation shows, a text: it
// is tried as a public key each time. So they are measured with a key object too.
function createGroup(title, peer, ...others) {
  return {
    title,
    contestants: [
      BARE,
      EMPTY,
      OURS,
      { ...IN_MEMORY, ...SELDOM },
      toPeer(peer, 'Redis', SELDOM),
      toPeer(peer, 'Set', EXTRA),
      { ...toPeer(peer, 'Set', EXTRA), name: `${peer} (KeyObject), Set`, hasKeyObject: true },
      ...others,
    ],
  }
}

function toPeer(peer, revocation, pace) {
  const check = { none: '', Set: ', Set', Redis: ', Redis GET' }[revocation]
  return { name: `${peer}${check}`, kind: 'peer', peer, revocation, ...pace }
}

/**
 * What is measured over HTTP: everything in a whole run, what targets and the chart need in a partial one, and what
 * targets need in a quick one.
 *
 * @param {{ quick: boolean, isWhole: boolean, hasRedis: boolean }} options
 * @returns {HttpGroup[]}
 */
export function listGroups({ quick, isWhole, hasRedis }) {
  const isChosen = ({ seldom, isExtra }) => isWhole || (isExtra !== true && !(quick && seldom === true))
  return GROUPS.map(({ contestants, framework, ...group }) => ({
    ...group,
    framework: framework ?? group.title,
    contestants: contestants
      .filter(isChosen)
      .filter(({ revocation }) => hasRedis || !NEEDS_REDIS.has(revocation))
      .map((contestant) => ({ ...contestant, framework: framework ?? group.title })),
  }))
}
