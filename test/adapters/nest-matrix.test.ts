import { describeBodies } from './matrix/describe-bodies.js'
import { describeCookies } from './matrix/describe-cookies.js'
import { describeErrors } from './matrix/describe-errors.js'
import { describeProofs } from './matrix/describe-proofs.js'
import { describeRoutes } from './matrix/describe-routes.js'
import { describeTenants } from './matrix/describe-tenants.js'
import { NEST } from './matrix/nest.js'

describeRoutes(NEST)
describeErrors(NEST)
describeBodies(NEST)
describeCookies(NEST)
describeTenants(NEST)
describeProofs(NEST)
