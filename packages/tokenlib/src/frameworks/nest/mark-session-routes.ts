import { SetMetadata, type Type } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { OpenApiOperation } from '../../routes/openapi.js'
import { describeRoutes, type DescribedManager } from '../../routes/session-routes/openapi.js'
import type { SessionController } from './session-controller.js'

// Where @ApiOperation(), @ApiResponse(), @ApiBody(), @ApiQuery() and @ApiSecurity() write; no package exports these names.
const OPERATION = 'swagger/apiOperation'
const RESPONSES = 'swagger/apiResponse'
const PARAMETERS = 'swagger/apiParameters'
const SECURITY = 'swagger/apiSecurity'

const reflector = new Reflector()
// What was written here for another manager may be replaced: controllers of one class share their handlers.
const written = new WeakSet<object>()

/** Tells @nestjs/swagger about the session routes of a controller, except what its class says itself. */
export function markSessionRoutes(controller: Type<SessionController>, tokens: DescribedManager): void {
  const prototype = controller.prototype as unknown as Record<string, () => unknown>
  for (const [name, { operation }] of Object.entries(describeRoutes(tokens))) {
    const handler = prototype[name] as () => unknown
    const mark = (key: string, value: object | undefined): void => {
      const stated = reflector.get<object | undefined>(key, handler)
      if (stated !== undefined && !written.has(stated)) return
      if (value !== undefined) written.add(value)
      SetMetadata(key, value)(handler)
    }
    mark(OPERATION, { summary: operation.summary })
    mark(RESPONSES, toResponses(operation))
    mark(PARAMETERS, toParameters(operation))
    mark(SECURITY, operation.security.length > 0 ? operation.security : undefined)
  }
}

function toResponses({ responses }: OpenApiOperation): object {
  const entries = Object.entries(responses).map(([status, { description, content }]) => [
    status,
    { description, ...(content !== undefined && { schema: content['application/json'].schema }) },
  ])
  return Object.fromEntries(entries) as object
}

function toParameters({ parameters = [], requestBody }: OpenApiOperation): readonly object[] {
  const copies = parameters.map((parameter) => ({ ...parameter }))
  if (requestBody === undefined) return copies
  const { required, content } = requestBody
  // Its `type` only keeps the package from looking for a class.
  return [...copies, { in: 'body', required, type: String, schema: content['application/json'].schema }]
}
