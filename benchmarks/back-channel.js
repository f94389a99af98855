// From sending a back-channel logout to the refusal of the user's access token in every process of an API.
// node benchmarks/back-channel.js [logouts] [bound in milliseconds]
import { importTypeScript } from '../tools/shared/import-typescript.js'
import { describeRows } from './figures.js'
import { startRedis } from './programs.js'

const [logouts = '200', bound = '1000'] = process.argv.slice(2)
const { measureLogouts, percentile } = await importTypeScript('test/routes/back-channel/measure-logouts.ts')

const redis = await startRedis(console.log)
if (redis === null) throw new Error('This measurement needs redis-server or valkey-server')
try {
  const figures = await measureLogouts(redis.url, Number(logouts), Number(bound))
  const toRow = (measured, values) => ({
    measured,
    'p50, ms': percentile(values, 0.5),
    'p99, ms': percentile(values, 0.99),
    'most, ms': percentile(values, 1),
  })
  console.log(
    describeRows([
      toRow('refused by a process with a replica', figures.replicas),
      toRow('refused by the last of four', figures.slowest),
      toRow('refused by a process without a replica', figures.direct),
      toRow('answered', figures.responses),
    ]),
  )
  console.log(
    `${logouts} logouts. Accepted after the bound of ${bound} ms: ${figures.late}. Wrong answers: ${figures.wrong}.`,
  )
  if (figures.late + figures.wrong > 0) process.exitCode = 1
} finally {
  await redis.stop()
}
