import { createVerifier } from 'fast-jwt'
import { TokenConfig, TokenManager } from 'tokenlib'
import { enforce } from 'tokenlib/fastify'
import { createMemoryStore } from 'tokenlib/memory'
import { createKeys, createTokenFactory, tamper, toNewStrings } from '../tokens.js'

// Twice as many as our manager remembers by default.
const NEW_TOKENS = 20_000
const BATCH = 1000

/**
 * The whole check of a request with a token that the process has not seen, next to the bare verification of `fast-jwt`.
 *
 * @returns {{ title: string, prepare: () => Promise<object> }[]}
 */
export function listGuardedGroups() {
  return [
    { title: 'guard HS256, new tokens', prepare: prepareNew },
    { title: 'guard HS256, forged tokens', prepare: prepareForged },
  ]
}

async function prepareNew() {
  const keys = createKeys('HS256')
  const manager = await openManager(keys, null)
  const stored = await openManager(keys, createMemoryStore())
  const createToken = createTokenFactory(manager, keys.privateText)
  const tokens = Array.from({ length: NEW_TOKENS }, (_, number) => createToken(number))
  const verify = createFastJwt(keys)
  return {
    contestants: [
      { name: 'tokenlib', call: createGuard(manager), prepare: toRequest },
      { name: 'tokenlib, memory store', call: createGuard(stored), prepare: toRequest },
      {
        name: 'tokenlib, direct call',
        isAsync: true,
        call: (request) => manager.accessTokenRequired(request),
        prepare: (token) => toRequest(token).raw,
      },
      { name: 'fast-jwt', call: verify, prepare: toToken },
    ].map((contestant) => ({ ...contestant, next: createTurn(tokens, contestant.prepare) })),
    check: ({ name, call, prepare }) => assertGuards(name, call, prepare, tokens.at(-1)),
    toCall: ({ call, next }) => [call, next],
  }
}

async function prepareForged() {
  const keys = createKeys('HS256')
  const manager = await openManager(keys, null)
  const createToken = createTokenFactory(manager, keys.privateText)
  const forged = Array.from({ length: BATCH }, (_, number) => tamper(createToken(number)))
  const hook = enforce(manager.accessTokenRequired)
  const verify = createFastJwt(keys)
  const isRefused = async (request) => {
    try {
      await hook(request, null, () => undefined)
      return false
    } catch {
      return true
    }
  }
  const isRefusedByFastJwt = (token) => {
    try {
      verify(token)
      return false
    } catch {
      return true
    }
  }
  return {
    contestants: [
      { name: 'tokenlib', isAsync: true, call: isRefused, prepare: toRequest },
      { name: 'fast-jwt', call: isRefusedByFastJwt, prepare: toToken },
    ],
    async check({ name, call, prepare }) {
      const [good, bad] = [createToken(0), forged[0]].map((token) => call(prepare(token)))
      if ((await good) || !(await bad))
        throw new Error(`${name} does not tell a forged token from a good one`)
    },
    toCall: ({ call, prepare }) => [call, () => toNewStrings(forged).map(prepare)],
  }
}

/**
 * A manager that is ready, with these keys and a store or `null`.
 *
 * @param {object} [fields] Other fields of the configuration.
 */
export async function openManager({ privateText }, store, fields = {}) {
  const config = new TokenConfig({ JWT_SECRET_KEY: privateText, JWT_ACCESS_TOKEN_EXPIRES: '1d', ...fields })
  const manager = new TokenManager({ config, ...(store !== null && { store }) })
  await manager.ready()
  return manager
}

/** What a Fastify hook does before it calls `done`. Returns whether it called `done` synchronously. */
export function createGuard(manager) {
  const hook = enforce(manager.accessTokenRequired)
  return (request) => {
    let hasPassed = false
    const promise = hook(request, null, () => {
      hasPassed = true
    })
    promise?.catch(() => undefined)
    return hasPassed
  }
}

function createFastJwt({ publicText }) {
  return createVerifier({ key: publicText, algorithms: ['HS256'], cache: false })
}

/** The part of a Fastify request that is read. */
export function toRequest(token) {
  const value = `Bearer ${token}`
  const [authorization] = toNewStrings([value])
  return {
    raw: {
      method: 'GET',
      url: '/me',
      headers: { host: 'localhost', authorization },
      rawHeaders: ['Host', 'localhost', 'Authorization', authorization],
    },
  }
}

function toToken(token) {
  return toNewStrings([token])[0]
}

// All tokens in turn, a batch at a time.
function createTurn(tokens, prepare) {
  let at = 0
  return () => {
    const batch = tokens.slice(at, at + BATCH).map(prepare)
    at = (at + BATCH) % tokens.length
    return batch
  }
}

async function assertGuards(name, call, prepare, token) {
  if (!(await call(prepare(token)))) throw new Error(`${name} does not accept a good token`)
  const accepted = await Promise.resolve()
    .then(() => call(prepare(tamper(token))))
    .catch(() => false)
  if (accepted) throw new Error(`${name} accepts a bad token`)
}
