import { importTypeScript } from '../shared/import-typescript.js'

/** A Redis and a PostgreSQL of this run's own; `environment` names them to the cells. */
export async function startServers() {
  const { startRedis } = await importTypeScript('test/helpers/servers/start-redis.ts')
  const { startPostgres } = await importTypeScript('test/helpers/servers/start-postgres.ts')
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  return {
    environment: { REDIS_URL: redis.url, DATABASE_URL: await postgres.createDatabase() },
    async stop() {
      await Promise.all([redis.stop(), postgres.stop()])
    },
  }
}
