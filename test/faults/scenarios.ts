import { join } from 'node:path'
import type { RunningServer } from '../helpers/servers/server-process.js'
import type { RunningMysql } from '../helpers/servers/start-mysql.js'
import type { RunningPostgres } from '../helpers/servers/start-postgres.js'
import { badNetworkFigures, runBadNetwork } from './bad-network.js'
import { flappingStoreFigures, runFlappingStore } from './flapping-store.js'
import { type FigureLine, toLines } from './harness/figures.js'
import type { ClientName, Place } from './harness/place.js'
import { killApplicationFigures, runKillApplication } from './kill-application.js'
import { killStoreFigures, runKillStore } from './kill-store.js'
import { millionFigures, runMillionInMemory, runMillionInRedis, runMillionInTables } from './million.js'
import { raceLogoutFigures, runRaceLogout } from './race-logout.js'
import { refreshRaceFigures, runRefreshRace } from './refresh-race.js'
import { FULL_REPLICA, type ReplicaSizes, runReplica, toReplicaLines } from './replica.js'
import { runStoppedStore, stoppedStoreFigures } from './stopped-store.js'

/** What a scenario runs on. */
export interface Equipment {
  /** The program of the child processes. */
  readonly program: string
  /** The program of the processes that have a replica. */
  readonly replicaProgram: string
  /** A folder for SQLite files. */
  readonly folder: string
  readonly redis: RunningServer
  /** One that has written what it acknowledges. */
  readonly durableRedis: RunningServer
  readonly postgres: RunningPostgres
  readonly mysql: RunningMysql
}

/** How large everything is. */
export interface Sizes {
  readonly rounds: number
  readonly kills: number
  readonly stoppedMs: number
  readonly troubleMs: number
  readonly flaps: number
  readonly schedules: number
  readonly entries: number
  readonly replica: ReplicaSizes
}

/** The sizes that the promises are made for. */
export const FULL: Sizes = {
  rounds: 200,
  kills: 50,
  stoppedMs: 10_000,
  troubleMs: 3000,
  flaps: 20,
  schedules: 2000,
  entries: 1_000_000,
  replica: FULL_REPLICA,
}

/** Sizes for a first look. */
export const QUICK: Sizes = {
  rounds: 20,
  kills: 8,
  stoppedMs: 4000,
  troubleMs: 1000,
  flaps: 4,
  schedules: 200,
  entries: 20_000,
  replica: { ...FULL_REPLICA, seeds: 2, seconds: 8 },
}

/** Runs one thing after the other, and gives the figures of each as they come. */
export type Scenario = (equipment: Equipment, sizes: Sizes) => AsyncGenerator<FigureLine[]>

/** All of them, by the name that `--only` takes. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'refresh-race': async function* (equipment, { rounds }) {
    const sizes = { rounds, perProcess: 25 }
    for (const place of places(equipment)) {
      const outcome = await runRefreshRace(equipment.program, place, sizes)
      yield toLines(where(place.client), outcome, refreshRaceFigures(sizes))
    }
  },
  'kill-application': async function* (equipment, { kills }) {
    const sizes = { kills, seed: 1 }
    for (const place of [...places(equipment), inFile(equipment.folder, 'killed')]) {
      const outcome = await runKillApplication(equipment.program, place, sizes)
      yield toLines(where(place.client), outcome, killApplicationFigures(sizes))
    }
  },
  'kill-store': async function* ({ redis, durableRedis, postgres, mysql }, { kills }) {
    const onRedis = { kills, clients: REDIS_CLIENTS, signals: ['SIGKILL'] as const }
    for (const [server, isDurable] of [
      [durableRedis, true],
      [redis, false],
    ] as const) {
      const sizes = { ...onRedis, isDurable }
      const outcome = await runKillStore(server, sizes)
      const name = `${where(...REDIS_CLIENTS)}, appendfsync ${isDurable ? 'always' : 'everysec'}`
      yield toLines(name, outcome, killStoreFigures(sizes))
    }
    for (const [server, clients, signals] of [
      [postgres, POSTGRES_CLIENTS, POSTGRES_SIGNALS],
      [mysql, MYSQL_CLIENTS, ['SIGKILL']],
    ] as const) {
      const sizes = { kills, clients, signals, isDurable: true }
      yield toLines(where(...clients), await runKillStore(server, sizes), killStoreFigures(sizes))
    }
  },
  'stopped-store': async function* (equipment, { stoppedMs }) {
    for (const [server, client] of servers(equipment)) {
      const sizes = { client, stoppedMs, perSecond: 300, config: {} }
      yield toLines(where(client), await runStoppedStore(server, sizes), stoppedStoreFigures(sizes, DEADLINE))
    }
    // What nobody waits for any more leaves the pool by itself, instead of being asked first when the server is back.
    const options = { poolWaitMs: DEADLINE }
    const sizes = { client: 'pg', stoppedMs, perSecond: 300, config: {}, options } as const
    const outcome = await runStoppedStore(equipment.postgres, sizes)
    const name = `${where('pg')}, connectionTimeoutMillis: ${DEADLINE}`
    yield toLines(name, outcome, stoppedStoreFigures(sizes, DEADLINE))
  },
  'bad-network': async function* (equipment, { troubleMs }) {
    for (const [server, client] of servers(equipment)) {
      const outcome = await runBadNetwork(server, { client, troubleMs, perSecond: 300, config: {} })
      yield toLines(where(client), outcome, badNetworkFigures(DEADLINE))
    }
  },
  'flapping-store': async function* ({ durableRedis, postgres, mysql }, { flaps }) {
    for (const [server, clients] of [
      [durableRedis, REDIS_CLIENTS],
      [postgres, POSTGRES_CLIENTS],
      [mysql, MYSQL_CLIENTS],
    ] as const) {
      const sizes = { flaps, clients }
      yield toLines(where(...clients), await runFlappingStore(server, sizes), flappingStoreFigures(sizes))
    }
  },
  'race-logout': async function* (equipment, { schedules }) {
    for (const place of places(equipment)) {
      const outcome = await runRaceLogout(place, { schedules, seed: 1 })
      yield toLines(where(place.client), outcome, raceLogoutFigures())
    }
  },
  replica: async function* ({ replicaProgram }, { replica }) {
    // One line of figures for each seed would be too many, and none before the end of a long run too few.
    for (let done = 0; done < replica.seeds; done += SEEDS_PER_TABLE) {
      const seeds = Math.min(SEEDS_PER_TABLE, replica.seeds - done)
      const firstSeed = replica.firstSeed + done
      const outcome = await runReplica(replicaProgram, { ...replica, seeds, firstSeed })
      yield toReplicaLines(
        `${where(REPLICA_CLIENTS[replica.store])}, ${seeds} x ${replica.seconds} s from seed ${firstSeed}`,
        outcome,
      )
    }
  },
  million: async function* ({ program, folder, redis, postgres, mysql }, { entries }) {
    const sizes = { count: entries, batch: 1000, pruneLimit: 10_000 }
    const figures = millionFigures(sizes)
    yield toLines('memory', await runMillionInMemory(program, sizes), figures)
    yield toLines('SQLite', await runMillionInTables(inFile(folder, 'million'), sizes), figures)
    for (const [client, server] of [
      ['pg', postgres],
      ['mysql2', mysql],
    ] as const) {
      const database = { client, url: await server.createDatabase() }
      yield toLines(where(client), await runMillionInTables(database, sizes), figures)
    }
    const outcome = await runMillionInRedis({ client: 'ioredis', url: redis.url }, sizes)
    yield toLines(where('ioredis'), outcome, figures)
  },
}

const SEEDS_PER_TABLE = 10
/** The deadline of a check unless the application sets another, in milliseconds. */
const DEADLINE = 250
const REDIS_CLIENTS = ['ioredis', 'redis'] as const
const POSTGRES_CLIENTS = ['pg', 'postgres'] as const
const MYSQL_CLIENTS = ['mysql2', 'mariadb'] as const
const REPLICA_CLIENTS = { redis: 'ioredis', postgres: 'pg', mysql: 'mariadb' } as const
/** Mostly what `pg_ctl stop -m immediate` sends. */
const POSTGRES_SIGNALS = ['SIGQUIT', 'SIGQUIT', 'SIGQUIT', 'SIGQUIT', 'SIGKILL'] as const

const NAMES: Readonly<Record<ClientName, string>> = {
  ioredis: 'Redis by ioredis',
  redis: 'Redis by redis',
  pg: 'PostgreSQL by pg',
  postgres: 'PostgreSQL by postgres',
  mysql2: 'MariaDB by mysql2',
  mariadb: 'MariaDB by mariadb',
  sqlite: 'SQLite',
}

function where(...clients: readonly ClientName[]): string {
  return clients.map((client) => NAMES[client]).join(' and ')
}

function places({ redis, postgres, mysql }: Equipment): Place[] {
  return [
    { client: 'ioredis', url: redis.url },
    { client: 'pg', url: postgres.url },
    { client: 'mysql2', url: mysql.url },
  ]
}

function servers({ redis, postgres, mysql }: Equipment): [RunningServer, ClientName][] {
  return [
    ...REDIS_CLIENTS.map((client): [RunningServer, ClientName] => [redis, client]),
    ...POSTGRES_CLIENTS.map((client): [RunningServer, ClientName] => [postgres, client]),
    ...MYSQL_CLIENTS.map((client): [RunningServer, ClientName] => [mysql, client]),
  ]
}

function inFile(folder: string, name: string): Place {
  return { client: 'sqlite', url: join(folder, `${name}.db`) }
}
