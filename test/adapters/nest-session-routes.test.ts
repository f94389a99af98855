import { type ContractRunner, sessionRoutesContract } from '../../packages/contracts/src/index.js'
import { SessionModule, TokenModule } from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { type ServeOptions, start } from '../helpers/nest.js'
import { WHOLE_CONTRACT } from '../stores/contract-parts.js'
import { FRAMEWORK_CONTRACT } from './session-routes-parts.js'

// Not ours behind a parser: it answers for what it cannot parse, and Fastify for what it has no parser for.
const BODIES = 'bodies without credentials are rejected'
const MEDIA_TYPES = 'no page of another origin can log its visitor in'

// The whole contract once.
for (const [name, options, runner, others] of [
  ['Nest on Express, without a body parser', { platform: 'Express', bodyParser: false }, WHOLE_CONTRACT, []],
  ['Nest on Express', { platform: 'Express' }, FRAMEWORK_CONTRACT, [BODIES]],
  ['Nest on Fastify', { platform: 'Fastify' }, FRAMEWORK_CONTRACT, [BODIES, MEDIA_TYPES]],
] as const satisfies [string, ServeOptions, ContractRunner, string[]][]) {
  sessionRoutesContract(
    name,
    (setup) =>
      start([], {
        imports: [TokenModule.forRoot({ tokens: setup.tokens }), SessionModule.forRoot(setup.options)],
        ...options,
      }),
    {
      ...runner,
      test: (title, run) => (others.some((one) => one === title) ? undefined : runner.test(title, run)),
    },
  )
}
