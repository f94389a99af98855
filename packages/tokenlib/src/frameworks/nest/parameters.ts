import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common'
import { MissingTokenError } from '../../errors.js'
import type { RequestToken } from '../../http/read-token.js'
import {
  type Answering,
  callDependency,
  type Dependency,
  requiredScopes,
} from '../../requests/dependencies.js'
import type { TokenPayload } from '../../tokens/payload.js'
import { type AnyManager, InjectTokenManager, readUpgrade, toView } from './context.js'
import { readVerified } from './guards.js'
import { addHandlerScopes, nameHandlerScopes, readAccess } from './metadata.js'

/** A decorator for parameters that can hold `Value`; at any other it does not compile. */
export type ParameterFor<Value> = <Target extends object, Key extends keyof Target, Index extends number>(
  target: Target,
  key: Key,
  index: [Value] extends [ParameterAt<Target[Key], Index>] ? Index : ['The parameter cannot hold', Value],
) => void

type ParameterAt<Method, Index extends number> = Method extends (...parameters: infer Types) => unknown
  ? Types[Index]
  : never

/** A parameter with the value of a dependency; the route does not run when that throws. */
export function Depends<Value>(dependency: Dependency<Value> & Answering<Value>): ParameterFor<Value> {
  const decorate = resolve(callDependency<unknown>(dependency))
  const scopes = requiredScopes([dependency])
  const decorateParameter: ParameterDecorator = (target, key, index) => {
    const handler = (target as Record<PropertyKey, object | undefined>)[key ?? '']
    if (handler !== undefined) addHandlerScopes(handler, scopes)
    decorate(target, key, index)
  }
  return decorateParameter as unknown as ParameterFor<Value>
}

const resolve = createParamDecorator((call: ReturnType<typeof callDependency>, context) =>
  nameHandlerScopes(context, () => call(toView(context))),
)

type Read = (tokens: AnyManager, context: ExecutionContext) => Promise<unknown>

/** A parameter with the payload that the route's guard verified; without one it asks for an access token. */
export function TokenClaims(manager?: string): ParameterDecorator {
  return fromManager(manager, readPayload)
}

/** A parameter with the `RequestToken` of the request, or `null`; it is not checked, that is for guards. */
export function Token(manager?: string): ParameterDecorator {
  return fromManager(manager, async (tokens, context) => {
    const upgrade = readContextUpgrade(context, tokens)
    if (upgrade !== null) return upgrade.token
    const verified = readVerified(context, tokens)
    return tokens.getTokenFromRequest(toView(context), { type: verified?.type ?? 'access' })
  })
}

/** A parameter with what the manager's subject getter finds for the access token. */
export function CurrentSubject(manager?: string): ParameterDecorator {
  return fromManager(manager, readSubject)
}

/** What the guard of a handler verified, else the payload of an access token; `null` only if the token is optional. */
async function readPayload(
  tokens: AnyManager,
  context: ExecutionContext,
  isAllowedWithout?: boolean,
): Promise<TokenPayload<object> | null> {
  const verified = readVerified(context, tokens)
  if (verified !== undefined) return verified
  // Which type of token a socket brings is for its handshake to say.
  if (readContextUpgrade(context, tokens) !== null) return tokens.tokenRequired(toView(context))
  const isEnough = isAllowedWithout ?? isOptional(context)
  return (isEnough ? tokens.accessTokenOptional : tokens.accessTokenRequired)(toView(context))
}

/** What the subject getter finds for the access token; `null` only if the token is optional. */
async function readSubject(
  tokens: AnyManager,
  context: ExecutionContext,
  isAllowedWithout: boolean = isOptional(context),
): Promise<unknown> {
  const isAbsent = isAllowedWithout && (await readPayload(tokens, context, true)) === null
  return isAbsent ? null : tokens.getCurrentSubject(toView(context))
}

function readContextUpgrade(context: ExecutionContext, tokens: AnyManager): ReturnType<typeof readUpgrade> {
  return context.getType<string>() === 'ws' ? readUpgrade(context.switchToWs().getClient(), tokens) : null
}

const isOptional = (context: ExecutionContext): boolean =>
  readAccess(context.getHandler(), context.getClass()) === 'optional'

// The container reaches a parameter only through its pipes; what they are handed is the context.
const passContext = createParamDecorator((_: unknown, context: ExecutionContext) => context)

/** A parameter whose value is read with a manager of the container. */
function fromManager(manager: string | undefined, read: Read): ParameterDecorator {
  class ManagerPipe implements PipeTransform<ExecutionContext, Promise<unknown>> {
    readonly #tokens: AnyManager

    constructor(tokens: AnyManager) {
      this.#tokens = tokens
    }

    transform(context: ExecutionContext): Promise<unknown> {
      return read(this.#tokens, context)
    }
  }
  Injectable()(ManagerPipe)
  InjectTokenManager(manager)(ManagerPipe, undefined, 0)
  return passContext(undefined, ManagerPipe)
}

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
  /** The payload that the guard verified; without a token the request is rejected, on optional routes too. */
  TokenClaims(): ParameterFor<PayloadOf<Manager>>
  /** The same, or `null` for a request without a token. */
  OptionalTokenClaims(): ParameterFor<PayloadOf<Manager> | null>
  /** What the subject getter finds; without a token the request is rejected, on optional routes too. */
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
 * export const { TokenClaims, InjectTokenManager } = createTokenDecorators<typeof tokens>()
 */
export function createTokenDecorators<Manager extends AnyManager>(name?: string): TokenDecorators<Manager> {
  const decorators = {
    TokenClaims: () =>
      fromManager(name, async (tokens, context) => assertPresent(await readPayload(tokens, context, false))),
    OptionalTokenClaims: () => fromManager(name, (tokens, context) => readPayload(tokens, context, true)),
    CurrentSubject: () => fromManager(name, (tokens, context) => readSubject(tokens, context, false)),
    OptionalCurrentSubject: () => fromManager(name, (tokens, context) => readSubject(tokens, context, true)),
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
