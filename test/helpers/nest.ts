import type { AddressInfo } from 'node:net'
import type { INestApplication, ModuleMetadata, Type } from '@nestjs/common'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { Test, type TestingModuleBuilder } from '@nestjs/testing'
import { onTestFinished } from 'vitest'

/** What Nest runs on. */
export const PLATFORMS = ['Express', 'Fastify'] as const
export type Platform = (typeof PLATFORMS)[number]

/** How an application of a test differs from the plain one. */
export interface ServeOptions extends Omit<ModuleMetadata, 'controllers'> {
  readonly platform?: Platform
  /** For `overrideProvider` and the like. */
  readonly override?: (builder: TestingModuleBuilder) => TestingModuleBuilder
  /** Whether Nest parses bodies. Default `true`. */
  readonly bodyParser?: boolean
  /** Whether requests have their bodies as they came. */
  readonly rawBody?: boolean
  /** Whether `close` ends open connections. Default `true`. */
  readonly forceCloseConnections?: boolean
  /** Runs before the application listens. */
  readonly setUp?: (app: INestApplication) => void
}

/** Sends a request to the application, `authorization` from a token. */
export type Send = (path: string, init?: RequestInit & { readonly token?: string }) => Promise<Response>

/** Runs controllers in an application that really listens, until the test ends. */
export async function serve(
  controllers: Type<object>[],
  options: ServeOptions,
): Promise<{ readonly send: Send; readonly port: number }> {
  const { app, port, url } = await start(controllers, options)
  onTestFinished(() => app.close())
  const send: Send = (path, { token, ...init } = {}) => {
    const headers = new Headers(init.headers)
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    return fetch(url + path, { ...init, headers })
  }
  return { send, port }
}

/** The same, until it is closed. */
export async function start(controllers: Type<object>[], options: ServeOptions) {
  const { platform = 'Express', override = (builder) => builder, setUp, ...rest } = options
  const { bodyParser = true, rawBody = false, forceCloseConnections = true, ...metadata } = rest
  const module = await override(Test.createTestingModule({ ...metadata, controllers })).compile()
  const adapter = platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter()
  const app = module.createNestApplication(adapter, {
    logger: false,
    forceCloseConnections,
    bodyParser,
    rawBody,
  })
  setUp?.(app)
  await app.listen(0, '127.0.0.1')
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address()
  return { app, port, url: `http://127.0.0.1:${port}`, close: () => app.close() }
}
