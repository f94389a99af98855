import {
  Body,
  Catch,
  Controller,
  type ExceptionFilter,
  HttpCode,
  HttpException,
  type INestApplication,
  type LoggerService,
  Req,
  RequestMapping,
  RequestMethod,
  Res,
  type Type,
  UseGuards,
} from '@nestjs/common'
import {
  type CookieTarget,
  Depends,
  enforce,
  RequireScopes,
  sendCookies,
  TokenExceptionFilter,
} from '../../../packages/tokenlib/src/frameworks/nest/index.js'
import type { RequestSource } from '../../../packages/tokenlib/src/index.js'
import { type Platform, PLATFORMS, serve } from '../../helpers/nest.js'
import {
  type Call,
  type ErrorClass,
  type Framework,
  readErrorOptions,
  type Route,
  runRoute,
  splitPath,
} from './framework.js'

/** Nest on each of its platforms. */
export const NEST: readonly Framework[] = PLATFORMS.map((platform) => createFramework(platform))

function createFramework(platform: Platform): Framework {
  return {
    name: `Nest on ${platform}`,
    enforceForms: ['a guard of the route', 'a guard of the controller'],
    injectForms: ['@Depends'],
    bodyReaders: [
      { name: '@Body', malformed: 400, empty: platform === 'Express' ? 401 : 400 },
      {
        name: '@Body and @Depends',
        injectAs: '@Depends',
        malformed: 400,
        empty: platform === 'Express' ? 401 : 400,
      },
    ],
    isMultipartRead: false,
    isInjectedInOrder: false,
    isErrorLogged: true,
    createHttpError: () => new HttpException('short and stout', 418),
    withoutDependency: [() => enforce(), () => RequireScopes()],
    withDependency: [(dependency) => enforce(dependency), (dependency) => Depends(dependency)],
    async start(routes, options) {
      const controllers = Object.entries(routes).map(([path, route]) => createController(path, route))
      const errors = readErrorOptions(options)
      const filters: ExceptionFilter[] = []
      if (errors !== null) filters.push(new TokenExceptionFilter(errors))
      if (options.own !== undefined) filters.push(createOwnFilter(options.own))
      const { log = () => {}, origin } = options
      const logger: LoggerService = { log() {}, warn() {}, error: log }
      const setUp = (app: INestApplication): void => {
        app.useLogger(logger)
        app.useGlobalFilters(...filters)
        if (origin !== undefined) app.enableCors({ origin })
      }
      return (await serve(controllers, { platform, setUp })).send
    },
  }
}

// The decorators are called by hand, because the routes are known only when the test runs.
function createController(path: string, route: Route): Type<object> {
  const { method = 'GET', inject = {}, enforceAs } = route
  const names = Object.keys(inject)
  class Routes {
    async answer(...given: unknown[]): Promise<object> {
      const [request, response, body] = given.slice(names.length) as [NestRequest, NestResponse, unknown]
      const values = Object.fromEntries(names.map((name, at) => [name, given[at]]))
      return runRoute(route, values, callOfNest(request, response, body))
    }
  }
  const [parent, child] = splitPath(path)
  const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, 'answer') as PropertyDescriptor
  RequestMapping({ path: child, method: RequestMethod[method] })(Routes.prototype, 'answer', descriptor)
  HttpCode(200)(Routes.prototype, 'answer', descriptor)
  const parameters = [
    ...Object.values(inject).map((dependency) => Depends(dependency) as ParameterDecorator),
    Req(),
    Res({ passthrough: true }),
    Body(),
  ]
  for (const [at, decorate] of parameters.entries()) decorate(Routes.prototype, 'answer', at)
  if (route.enforce !== undefined) {
    const decorate = UseGuards(enforce(...route.enforce))
    if (enforceAs === 'a guard of the controller') decorate(Routes)
    else decorate(Routes.prototype, 'answer', descriptor)
  }
  Controller(parent)(Routes)
  return Routes
}

type NestRequest = RequestSource & {
  readonly headers: Readonly<Record<string, string>>
  /** On Fastify. */
  readonly raw?: RequestSource
}
type NestResponse = CookieTarget

const callOfNest = (request: NestRequest, response: NestResponse, body: unknown): Call => ({
  sources: [request, request.raw ?? request],
  header: (name) => request.headers[name],
  body: () => body,
  text: () => Promise.reject(new TypeError('Nest has parsed the body')),
  form: () => body,
  sendCookies: (cookies) => sendCookies(response, cookies),
  setCookie(name, value) {
    const cookies = [`${name}=${value}; Path=/`]
    if ('appendHeader' in response) response.appendHeader('set-cookie', cookies)
    else response.header('set-cookie', cookies)
  },
})

function createOwnFilter(type: ErrorClass): ExceptionFilter {
  class OwnFilter implements ExceptionFilter {
    catch(_error: unknown, host: Parameters<ExceptionFilter['catch']>[1]): void {
      const response = host
        .switchToHttp()
        .getResponse<{ status(code: number): { send(body: object): void } }>()
      response.status(410).send({ own: true })
    }
  }
  Catch(type as Type<Error>)(OwnFilter)
  return new OwnFilter()
}
