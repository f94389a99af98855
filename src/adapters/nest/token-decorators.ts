import { MissingTokenError } from '../../errors.js'
import type { RequestToken } from '../../request/read-token.js'
import type { ParameterFor } from './depends.js'
import { type AnyManager, InjectTokenManager } from './manager-token.js'
import { fromManager, readPayload, readSubject, Token } from './payload.js'

/** A decorator for parameters of constructors that are of the type of a manager; at any other it does not compile. */
export type ConstructorParameterFor<Value> = <
  Target extends abstract new (...parameters: never[]) => unknown,
  Index extends number,
>(
  target: Target,
  key: undefined,
  index: IsSame<ConstructorParameters<Target>[Index], Value> extends true
    ? Index
    : ['The parameter must be of the type', Value],
) => void

// In both directions: in one, methods would let a manager of wider claims pass.
type IsSame<Left, Right> = [Left, Right] extends [Right, Left] ? true : false

type PayloadOf<Manager extends AnyManager> = Awaited<ReturnType<Manager['accessTokenRequired']>>
type SubjectOf<Manager extends AnyManager> = Awaited<ReturnType<Manager['getCurrentSubject']>>

/** Decorators that know the claims and the subject of a manager. */
export interface TokenDecorators<Manager extends AnyManager> {
  /** The payload that the guard verified; without a token the request is refused, on optional routes too. */
  Payload(): ParameterFor<PayloadOf<Manager>>
  /** The same, or `null` for a request without a token. */
  OptionalPayload(): ParameterFor<PayloadOf<Manager> | null>
  /** What the subject getter finds; without a token the request is refused, on optional routes too. */
  CurrentSubject(): ParameterFor<SubjectOf<Manager>>
  /** The same, or `null` for a request without a token. */
  OptionalCurrentSubject(): ParameterFor<SubjectOf<Manager> | null>
  /** The `RequestToken` of the request, or `null`; it is not checked. */
  Token(): ParameterFor<RequestToken | null>
  /** Injects the manager into a constructor; the parameter must be of its type. */
  InjectTokenManager(): ConstructorParameterFor<Manager>
}

/**
 * The decorators of a manager whose type is known: `createTokenDecorators<typeof tokens>()`.
 *
 * @example
 * export const { Payload, InjectTokenManager } = createTokenDecorators<typeof tokens>()
 */
export function createTokenDecorators<Manager extends AnyManager>(name?: string): TokenDecorators<Manager> {
  const decorators = {
    Payload: () =>
      fromManager(name, async (tokens, view, context) =>
        assertPresent(await readPayload(tokens, view, context, false)),
      ),
    OptionalPayload: () =>
      fromManager(name, (tokens, view, context) => readPayload(tokens, view, context, true)),
    CurrentSubject: () =>
      fromManager(name, (tokens, view, context) => readSubject(tokens, view, context, false)),
    OptionalCurrentSubject: () =>
      fromManager(name, (tokens, view, context) => readSubject(tokens, view, context, true)),
    Token: () => Token(name),
    InjectTokenManager: () => InjectTokenManager(name),
  }
  return decorators as unknown as TokenDecorators<Manager>
}

// The guard of an optional route has let the request on without a token; the type of the parameter has no `null`.
function assertPresent<Value>(value: Value | null): Value {
  if (value === null) throw new MissingTokenError('No token found in the request')
  return value
}
