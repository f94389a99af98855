import { TokenManager, type RefreshedTokens } from '../../../packages/tokenlib/src/index.js'
import { internalsOf } from '../../../packages/tokenlib/src/sessions/internals.js'
import { current } from '../current-record.js'
import { textsOfObject } from '../shown-texts.js'

type Method = (this: unknown, ...given: unknown[]) => unknown

/** Sees every manager, every token that it makes or is handed, and what it answers with. */
export function watchManagers(): void {
  // Every constructor makes its dependencies with it.
  wrap(TokenManager.prototype, 'require', {
    self(manager) {
      if (seen.has(manager as object)) return
      seen.add(manager as object)
      seeObject('TokenManager', manager)
      watchGroups(manager as TokenManager)
    },
  })
  wrap(TokenManager.prototype, 'createAccessToken', { answer: seeMade })
  wrap(TokenManager.prototype, 'createRefreshToken', { answer: seeMade })
  wrap(TokenManager.prototype, 'verify', { given: seeHanded })
}

function watchGroups(manager: TokenManager): void {
  const { sessions, sockets } = manager
  wrap(sessions, 'open', { later: seePair })
  wrap(sessions, 'refresh', { given: seeHanded, later: seePair })
  wrap(sessions, 'list', { later: (list) => seeObject('SessionInfo', list) })
  wrap(sockets, 'authenticate', { later: (upgrade) => seeObject('AuthenticatedUpgrade', upgrade) })
  wrap(internalsOf(manager), 'verifyWithoutRevocation', { given: seeHanded })
}

const seen = new WeakSet()

function seeMade(token: unknown): void {
  current.record?.addToken('a token that was made', token as string)
}

// A pair is its tokens: the application asked for them, and is shown them.
function seePair(pair: unknown): void {
  const { accessToken, refreshToken } = pair as RefreshedTokens
  seeMade(accessToken)
  if (refreshToken !== null) seeMade(refreshToken)
}

// Its shape is looked at later: some tests count what is done with a text.
function seeHanded(token: unknown): void {
  if (typeof token === 'string') current.record?.addToken('a token that was handed in', token)
}

function seeObject(name: string, value: unknown): void {
  current.record?.show('objects', (isThorough) => textsOfObject(name, value as object, isThorough))
}

interface Observers {
  /** Gets the manager. */
  readonly self?: (value: unknown) => void
  /** Gets the first argument. */
  readonly given?: (value: unknown) => void
  readonly answer?: (value: unknown) => void
  /** Gets what the promise resolves to. */
  readonly later?: (value: unknown) => void
}

function wrap<Type extends object>(
  prototype: Type,
  name: keyof Type & string,
  { self: seeSelf, given, answer, later }: Observers,
): void {
  const value = new Proxy(prototype[name] as Method, {
    apply(target, self, values: unknown[]) {
      seeSelf?.(self)
      given?.(values[0])
      const result = Reflect.apply(target, self, values)
      answer?.(result)
      if (later === undefined) return result
      // A promise of its own, so that a rejection nobody looks at is still nobody's.
      return (result as Promise<unknown>).then((resolved) => {
        later(resolved)
        return resolved
      })
    },
  })
  Object.defineProperty(prototype, name, { value, writable: true, configurable: true })
}
