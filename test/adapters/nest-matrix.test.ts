import { describeBodies } from './matrix/describe-bodies.js'
import { describeCookies } from './matrix/describe-cookies.js'
import { describeErrors } from './matrix/describe-errors.js'
import { describeRoutes } from './matrix/describe-routes.js'
import { NEST_FRAMEWORKS } from './matrix/nest.js'

describeRoutes(NEST_FRAMEWORKS)
describeErrors(NEST_FRAMEWORKS)
describeBodies(NEST_FRAMEWORKS)
describeCookies(NEST_FRAMEWORKS)
