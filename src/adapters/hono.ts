import type { Context, Env, ErrorHandler, Handler, MiddlewareHandler } from 'hono'
import { isTokenError } from '../errors.js'
import { type ErrorResponseOptions, toErrorResponse } from '../http/error-response.js'
import {
  assertDependencies,
  type Dependency,
  type DependencyValues,
  enforceDependencies,
  resolveDependencies,
} from '../manager/dependencies.js'
import { isForm, isJson } from '../request/body.js'
import { createFetchView } from '../request/fetch-view.js'
import { rememberView } from '../request/request-source.js'
import type { RequestView } from '../request/view.js'

type Dependencies = Readonly<Record<string, Dependency<unknown>>>

/** Middleware that lets a request on only after every dependency has passed. */
export function enforce(...dependencies: readonly Dependency<unknown>[]): MiddlewareHandler {
  assertDependencies(dependencies)
  return async (c, next) => {
    await enforceDependencies(dependencies, toView(c))
    await next()
  }
}

/** Middleware that puts the values of dependencies into `c.var`, typed. */
export function inject<Given extends Dependencies>(
  dependencies: Given,
): MiddlewareHandler<{ Variables: DependencyValues<Given> }>
/** A handler that receives the values of its dependencies first. */
export function inject<Given extends Dependencies, E extends Env = Env, Path extends string = string>(
  dependencies: Given,
  handler: (values: DependencyValues<Given>, c: Context<E, Path>) => Response | Promise<Response>,
): Handler<E, Path>
export function inject(
  dependencies: Dependencies,
  handler?: (values: DependencyValues<Dependencies>, c: Context) => Response | Promise<Response>,
): MiddlewareHandler {
  assertDependencies(Object.values(dependencies))
  return async (c, next) => {
    const values = await resolveDependencies(dependencies, toView(c))
    if (handler !== undefined) return handler(values, c)
    for (const [name, value] of Object.entries(values)) c.set(name, value)
    return next()
  }
}

/** For `app.onError`: token errors become RFC 6750 answers, others the answer Hono gives without a handler. */
export function handleErrors(options?: ErrorResponseOptions): ErrorHandler {
  return (error, c) => {
    if (isTokenError(error)) {
      const { status, headers, body } = toErrorResponse(error, options)
      return c.json(body, status, headers)
    }
    if ('getResponse' in error) return error.getResponse()
    console.error(error)
    return c.text('Internal Server Error', 500)
  }
}

// A body that an earlier middleware read is not lost: Hono keeps it.
function toView(c: Context): RequestView {
  return rememberView(c.req.raw, () => {
    const view = createFetchView(c.req.raw)
    const body = (): Promise<unknown> => (c.req.raw.bodyUsed ? readKeptBody(c) : view.body())
    return Object.create(view, { body: { value: body } }) as RequestView
  })
}

async function readKeptBody(c: Context): Promise<unknown> {
  const contentType = c.req.header('content-type') ?? null
  try {
    if (isJson(contentType)) return await c.req.json<unknown>()
    if (isForm(contentType)) return await c.req.parseBody({ all: true })
  } catch {
    // Not what its content type says: then it holds no token, and the route will notice by itself.
  }
  return undefined
}
