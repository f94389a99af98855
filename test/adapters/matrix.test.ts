import { describeBodies } from './matrix/describe-bodies.js'
import { describeCookies } from './matrix/describe-cookies.js'
import { describeErrors } from './matrix/describe-errors.js'
import { describeProofs } from './matrix/describe-proofs.js'
import { describeRoutes } from './matrix/describe-routes.js'
import { describeTenants } from './matrix/describe-tenants.js'
import { ELYSIA } from './matrix/elysia.js'
import { EXPRESS } from './matrix/express.js'
import { FASTIFY } from './matrix/fastify.js'
import { FETCH } from './matrix/fetch.js'
import { H3_FRAMEWORKS } from './matrix/h3.js'
import { HONO } from './matrix/hono.js'
import { KOA } from './matrix/koa.js'

const FRAMEWORKS = [EXPRESS, KOA, FASTIFY, ...FETCH, ...HONO, ...H3_FRAMEWORKS, ...ELYSIA]

describeRoutes(FRAMEWORKS)
describeErrors(FRAMEWORKS)
describeBodies(FRAMEWORKS)
describeCookies(FRAMEWORKS)
// These do not depend on the server.
const ADAPTERS = [
  EXPRESS,
  KOA,
  FASTIFY,
  ...[FETCH, HONO, H3_FRAMEWORKS, ELYSIA].flatMap((all) => all.slice(0, 1)),
]
describeTenants(ADAPTERS)
describeProofs(ADAPTERS)
