import { afterEach, vi } from 'vitest'
import { describeRoutes } from './matrix/describe-routes.js'
import { ELYSIA_FRAMEWORKS } from './matrix/elysia.js'
import { FETCH_FRAMEWORKS } from './matrix/fetch-frameworks.js'
import { EXPRESS, FASTIFY, KOA } from './matrix/node-frameworks.js'

const FRAMEWORKS = [EXPRESS, KOA, FASTIFY, ...FETCH_FRAMEWORKS, ...ELYSIA_FRAMEWORKS]
afterEach(() => void vi.restoreAllMocks())

describeRoutes(FRAMEWORKS)
