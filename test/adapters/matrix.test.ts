import { describeBodies } from './matrix/describe-bodies.js'
import { describeCookies } from './matrix/describe-cookies.js'
import { describeErrors } from './matrix/describe-errors.js'
import { describeRoutes } from './matrix/describe-routes.js'
import { ELYSIA_FRAMEWORKS } from './matrix/elysia.js'
import { FETCH_FRAMEWORKS } from './matrix/fetch-frameworks.js'
import { EXPRESS, FASTIFY, KOA } from './matrix/node-frameworks.js'

const FRAMEWORKS = [EXPRESS, KOA, FASTIFY, ...FETCH_FRAMEWORKS, ...ELYSIA_FRAMEWORKS]

describeRoutes(FRAMEWORKS)
describeErrors(FRAMEWORKS)
describeBodies(FRAMEWORKS)
describeCookies(FRAMEWORKS)
