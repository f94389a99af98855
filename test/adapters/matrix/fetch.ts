import * as adapter from '../../../packages/tokenlib/src/frameworks/fetch.js'
import {
  type Common,
  createPair,
  createReader,
  type Fetch,
  readErrorOptions,
  type Route,
  type Routes,
  runRoute,
  type StartOptions,
  type Values,
} from './framework.js'

const COMMON: Common = {
  enforceForms: ['a wrapper'],
  injectForms: ['a handler'],
  bodyReaders: [createReader('request.json()'), createReader('request.text()', true)],
  isMultipartRead: true,
  isInjectedInOrder: true,
  isErrorLogged: false,
  withoutDependency: [() => adapter.enforce(), () => adapter.inject({}, () => new Response())],
  withDependency: [
    (dependency) => adapter.enforce(dependency),
    (payload) => adapter.inject({ payload }, () => new Response()),
  ],
}

/** The Fetch adapter by itself, and on Node. */
export const FETCH = createPair('Fetch', COMMON, createHandler)

function createHandler(routes: Routes, options: StartOptions): Fetch {
  const { own, origin } = options
  const handlers = Object.entries(routes).map(
    ([path, route]) => [`${route.method ?? 'GET'} ${path}`, createRoute(route)] as const,
  )
  const table = new Map<string, Fetch>(handlers)
  const find: Fetch = (request) => {
    const handler = table.get(`${request.method} ${new URL(request.url).pathname}`)
    return handler === undefined ? new Response(null, { status: 404 }) : handler(request)
  }
  const catchOwn: Fetch = async (request) => {
    try {
      return await find(request)
    } catch (error) {
      if (own !== undefined && error instanceof own) return new Response(null, { status: 410 })
      throw error
    }
  }
  const errors = readErrorOptions(options)
  const handle = errors === null ? catchOwn : adapter.handleErrors(errors)(catchOwn)
  if (origin === undefined) return handle
  return async (request) => {
    const response =
      request.method === 'OPTIONS' ? new Response(null, { status: 204 }) : await handle(request)
    response.headers.set('access-control-allow-origin', origin)
    return response
  }
}

function createRoute(route: Route): Fetch {
  const answer = async (values: Values, request: Request): Promise<Response> => {
    const steps: ((response: Response) => Response)[] = []
    const value = await runRoute(route, values, {
      sources: [request],
      header: (name) => request.headers.get(name),
      body: () => request.json(),
      text: () => request.text(),
      form: async () => Object.fromEntries(await request.formData()),
      sendCookies: (cookies) => steps.push((response) => adapter.sendCookies(response, cookies)),
      setCookie: (name, value) =>
        steps.push((response) => {
          response.headers.append('set-cookie', `${name}=${value}; Path=/`)
          return response
        }),
    })
    return steps.reduce((response, step) => step(response), Response.json(value))
  }
  const handler: Fetch =
    route.inject === undefined ? (request) => answer({}, request) : adapter.inject(route.inject, answer)
  return route.enforce === undefined ? handler : adapter.enforce(...route.enforce)(handler)
}
