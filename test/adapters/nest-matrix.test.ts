import { afterEach, vi } from 'vitest'
import { describeRoutes } from './matrix/describe-routes.js'
import { NEST_FRAMEWORKS } from './matrix/nest.js'

afterEach(() => void vi.restoreAllMocks())

describeRoutes(NEST_FRAMEWORKS)
