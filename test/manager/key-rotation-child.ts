// Another process with the same keys and a clock of its own: it creates tokens all the time, and verifies its own and those
// of the others again and again until they expire.
import { type OwnKey, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** A key as it is sent to a process; moments in epoch milliseconds. */
export interface SentKey {
  readonly kid: string
  readonly privateKey: Jwk
  readonly notBefore: number | null
  readonly retireAt: number | null
}

/** What the test says to a process. */
export type RotationCommand =
  | {
      readonly start: readonly SentKey[]
      readonly offsetMs: number
      readonly lifetimeSeconds: number
      readonly leewaySeconds: number
    }
  | { readonly setKeys: readonly SentKey[] }
  | { readonly tokens: readonly string[] }
  | { readonly stop: true }
  | { readonly report: true }

/** What a process has counted. */
export interface RotationReport {
  readonly created: number
  readonly verified: number
  readonly kids: readonly string[]
  /** By the code of the error. */
  readonly refused: Readonly<Record<string, number>>
  /** What becomes of the first token of the first key at the end. */
  readonly first: string
}

let tokens: TokenManager
let first = ''
let created = 0
let verified = 0
let timer: NodeJS.Timeout | undefined
const kids = new Set<string>()
const refused: Record<string, number> = {}
const living: { readonly token: string; readonly until: number }[] = []

process.on('message', (command: RotationCommand) => {
  if ('start' in command) start(command)
  else if ('setKeys' in command) tokens.keys.set(command.setKeys.map(toKey))
  else if ('tokens' in command) for (const token of command.tokens) verify(token, true)
  else if ('stop' in command) {
    clearInterval(timer)
    process.send?.({ stopped: true })
  } else {
    const report: RotationReport = {
      created,
      verified,
      kids: [...kids],
      refused,
      first: readCode(first) ?? 'ok',
    }
    process.send?.({ report })
  }
})

function start(command: Extract<RotationCommand, { start: unknown }>): void {
  const config = new TokenConfig({
    JWT_ACCESS_TOKEN_EXPIRES: command.lifetimeSeconds,
    JWT_REFRESH_TOKEN_EXPIRES: command.lifetimeSeconds,
    JWT_DECODE_LEEWAY: command.leewaySeconds,
  })
  const clock = (): number => Date.now() + command.offsetMs
  tokens = new TokenManager({ config, clock, keys: command.start.map(toKey) })
  timer = setInterval(() => {
    const made = [1, 2, 3].map(() => tokens.createAccessToken({ uid: 'ada' }))
    created += made.length
    if (first === '') first = made[0] as string
    for (const token of made) verify(token, true)
    process.send?.({ tokens: made })
    // Remembered tokens, of keys that have a successor.
    const now = clock()
    for (let count = 0; count < 10; count++) {
      const old = living.shift()
      if (old !== undefined && old.until > now) verify(old.token, false)
      if (old !== undefined && old.until > now) living.push(old)
    }
  }, 20)
}

function toKey({ kid, privateKey, notBefore, retireAt }: SentKey): OwnKey {
  return {
    kid,
    algorithm: 'ES256',
    privateKey,
    ...(notBefore !== null && { notBefore: new Date(notBefore) }),
    ...(retireAt !== null && { retireAt: new Date(retireAt) }),
  }
}

function verify(token: string, isNew: boolean): void {
  const code = readCode(token)
  verified++
  if (code !== null) refused[code] = (refused[code] ?? 0) + 1
  if (!isNew || code !== null) return
  const { exp = 0 } = internalsOf(tokens).verifyWithoutRevocation(token)
  kids.add(String(JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid))
  if (living.length < 1000) living.push({ token, until: exp * 1000 })
}

function readCode(token: string): string | null {
  try {
    internalsOf(tokens).verifyWithoutRevocation(token)
    return null
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
