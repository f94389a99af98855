import { createHmac, createSecretKey, generateKeyPairSync, randomBytes, randomFillSync } from 'node:crypto'
import { TokenConfig, TokenManager } from 'tokenlib'

/** The algorithms that are measured. */
export const ALGORITHMS = /** @type {const} */ (['HS256', 'RS256', 'ES256', 'EdDSA'])

/** How many different tokens requests carry. */
export const DISTINCT_TOKENS = 1000

/** A secret as the documentation of most libraries shows it: a text. */
export function createSecret() {
  return randomBytes(32).toString('base64url')
}

/**
 * The keys of an algorithm, in every form that a contestant wants them.
 *
 * @param {(typeof ALGORITHMS)[number]} algorithm
 */
export function createKeys(algorithm) {
  if (algorithm === 'HS256') {
    const text = createSecret()
    const key = createSecretKey(Buffer.from(text))
    return { algorithm, privateKey: key, publicKey: key, privateText: text, publicText: text }
  }
  const { privateKey, publicKey } = KEY_PAIRS[algorithm]()
  const privateText = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const publicText = publicKey.export({ format: 'pem', type: 'spki' }).toString()
  return { algorithm, privateKey, publicKey, privateText, publicText }
}

/**
 * Our manager with these keys.
 *
 * @param {ReturnType<typeof createKeys>} keys
 * @param {object} [fields] Other fields of the configuration.
 */
export function createManager({ algorithm, privateText }, fields = {}) {
  const key = algorithm === 'HS256' ? { JWT_SECRET_KEY: privateText } : { JWT_PRIVATE_KEY: privateText }
  return new TokenManager({ config: new TokenConfig({ JWT_ALGORITHM: algorithm, ...key, ...fields }) })
}

/** The subject of the token with a number; all are equally long, so that all answers are. */
export function toSubject(number) {
  return `user-${String(number).padStart(7, '0')}`
}

/**
 * Different tokens, one for each subject.
 *
 * @param {TokenManager} manager
 * @param {number} [count]
 */
export function createTokens(manager, count = DISTINCT_TOKENS) {
  const tokens = Array.from({ length: count }, (_, number) =>
    manager.createAccessToken({ uid: toSubject(number) }),
  )
  // What was put together from parts is no flat string.
  return toNewStrings(tokens)
}

/**
 * Copies of texts that share nothing with them, as a server gets them from the network: flat, and with no hash yet.
 *
 * @param {readonly string[]} texts
 */
export function toNewStrings(texts) {
  return texts.map((text) => Buffer.from(text, 'latin1').toString('latin1'))
}

/** A token whose payload is not the one that was signed. */
export function tamper(token) {
  const [header, payload, signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const other = Buffer.from(JSON.stringify({ ...claims, sub: `${claims.sub}0` })).toString('base64url')
  return [header, other, signature].join('.')
}

/** The id of a token. */
export function readId(token) {
  return JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()).jti
}

/**
 * Makes HS256 tokens by number, the same one each time, faster than a manager does.
 *
 * @param {TokenManager} manager
 * @param {string} secret
 */
export function createTokenFactory(manager, secret) {
  const sample = manager.createAccessToken({ uid: toSubject(0) })
  const [header, payload] = sample.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const key = createSecretKey(Buffer.from(secret))
  const id = Buffer.from(claims.jti, 'base64url')
  return (number) => {
    id.writeUInt32BE(number, 8)
    const own = { ...claims, sub: toSubject(number), jti: id.toString('base64url') }
    const input = `${header}.${Buffer.from(JSON.stringify(own)).toString('base64url')}`
    return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
  }
}

const BATCH = 10_000

/**
 * Batches of token ids like ours: six bytes of time and ten random ones, in base64url.
 *
 * @param {number} count
 */
export function* createIdBatches(count) {
  const bytes = Buffer.alloc(BATCH * 16)
  for (let made = 0; made < count; made += BATCH) {
    randomFillSync(bytes)
    const now = Date.now()
    yield Array.from({ length: Math.min(BATCH, count - made) }, (_, at) => {
      bytes.writeUIntBE(now - (at % 1000), at * 16, 6)
      return bytes.toString('base64url', at * 16, at * 16 + 16)
    })
  }
}

/**
 * Revokes tokens in a store.
 *
 * @param {import('tokenlib').RevocationStore} store
 * @param {readonly string[]} ids
 */
export async function revokeIds(store, ids) {
  const until = Date.now() + 3_600_000
  // Revoked for good, whenever the token was made.
  const notBefore = Number.MAX_SAFE_INTEGER
  await store.revoke(ids.map((id) => ({ kind: 'token', id, notBefore, until })))
}

const KEY_PAIRS = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}
