import { afterAll, beforeAll, describe, test } from 'vitest'
import { sessionRoutesContract } from '../../packages/contracts/src/index.js'
import { SessionModule, TokenModule } from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { type ServeOptions, start } from '../helpers/nest.js'

// A body parser answers for what it cannot parse, and Fastify for what it has no parser for.
const BODIES = 'bodies that are no credentials are refused'
const MEDIA_TYPES = 'no page of another origin can log its visitor in'

for (const [name, options, skipped] of [
  ['Nest on Express, without a body parser', { platform: 'Express', bodyParser: false }, []],
  ['Nest on Express', { platform: 'Express' }, [BODIES]],
  ['Nest on Fastify', { platform: 'Fastify' }, [BODIES, MEDIA_TYPES]],
] as const satisfies [string, ServeOptions, string[]][]) {
  sessionRoutesContract(
    name,
    (setup) =>
      start([], {
        imports: [TokenModule.forRoot({ tokens: setup.tokens }), SessionModule.forRoot(setup.options)],
        ...options,
      }),
    {
      describe,
      beforeAll,
      afterAll,
      test: (title, run) => test.skipIf(skipped.some((one) => one === title))(title, run),
    },
  )
}
