import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toTimedId } from '../../packages/tokenlib/src/tokens/ids.js'
import type { PresentedToken } from 'tokenlib/kit'
import { createPostgresStore, type PostgresStore } from 'tokenlib/postgres'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'

const HOUR = 3_600_000
const FOREVER = Number.MAX_SAFE_INTEGER
const RULES = { graceMs: 10_000, idleMs: FOREVER, ip: null, userAgent: null }
/** Rows of the namespace that the statistics know, and of the one that they do not know. */
const LARGE = 120_000
const GROWN = 30_000
const PAGE = 1000
/** What a statement about a few keys may read, in any of the tables. */
const FEW = 20

const nonce = (at: number): string => String(at).padStart(13, '0') + 'A'

/** How many rows of all tables a call reads, by the server's own count; what it writes is undone. */
async function countRows(client: pg.Client, call: () => Promise<unknown>): Promise<number> {
  const count = async (): Promise<number> => {
    const { rows } = await client.query<{ visited: string }>(
      'select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) as visited from pg_stat_xact_user_tables',
    )
    return Number(rows[0]?.visited)
  }
  await client.query('begin')
  try {
    const before = await count()
    await call()
    return (await count()) - before
  } finally {
    await client.query('rollback')
  }
}

describeWithPostgres('the plans of the PostgreSQL store', (url) => {
  const admin = new pg.Client({ connectionString: url })
  const startedAt = Date.now() - HOUR
  const sidAt = (at: number): string => toTimedId(startedAt, nonce(at))

  const fill = async (prefix: string, namespace: string, count: number): Promise<void> => {
    await admin.query(
      `insert into ${prefix}revocations (namespace, kind, id, not_before, until, change)
      select $1, 'token', 'token-' || n, ${FOREVER}, ${FOREVER}, n from generate_series(1, $2::bigint) n`,
      [namespace, count],
    )
    // Half of them of one user, as of somebody who never logs out.
    await admin.query(
      `insert into ${prefix}sessions (namespace, sid, user_id, started_at, last_used_at, expires_at, until, generation,
        current_id, moved_at)
      select $1, $3 || lpad(n::text, 13, '0') || 'A', case when n % 2 = 0 then 'ada' else 'user-' || n end, $4::bigint, $4::bigint,
        ${FOREVER}, ${FOREVER}, 2, 'parent', $4::bigint from generate_series(1, $2::bigint) n`,
      [namespace, count, toTimedId(startedAt, '').slice(0, 8), startedAt],
    )
    await admin.query(
      `insert into ${prefix}spent (namespace, id, until)
      select $1, 'id-' || n, ${FOREVER} from generate_series(1, $2::bigint) n`,
      [namespace, count],
    )
    await admin.query(`update ${prefix}heads set changes = $2 where namespace = $1`, [namespace, count])
  }

  const setUp = async (prefix: string, isAnalyzed: boolean): Promise<void> => {
    await createPostgresStore(admin, { prefix }).migrate()
    for (const table of ['heads', 'revocations', 'sessions', 'spent']) {
      await admin.query(`alter table ${prefix}${table} set (autovacuum_enabled = false)`)
    }
    for (const namespace of ['large', 'zz-grown']) {
      await createPostgresStore(admin, { prefix, namespace }).prepare({ longestLifetime: HOUR })
    }
    await fill(prefix, 'large', LARGE)
    // From then on the planner knows of one namespace, and of no other.
    if (isAnalyzed) await admin.query('analyze')
    await fill(prefix, 'zz-grown', GROWN)
  }

  beforeAll(async () => {
    await admin.connect()
    await setUp('known_', true)
    await setUp('unknown_', false)
  }, 120_000)
  afterAll(() => admin.end())

  describe.each([
    ['known_', 'force_custom_plan'],
    ['known_', 'force_generic_plan'],
    ['unknown_', 'force_custom_plan'],
    ['unknown_', 'force_generic_plan'],
  ])('%s %s', (prefix, mode) => {
    const client = new pg.Client({ connectionString: url, options: `-c plan_cache_mode=${mode}` })
    let store: PostgresStore
    const sessions = () => store.sessions!
    // Each by a store of its own: one whose writes were undone would find data lost.
    const visited = async (call: () => Promise<unknown>): Promise<number> => {
      store = createPostgresStore(client, { prefix, namespace: 'zz-grown', namedStatements: true })
      await store.prepare({ longestLifetime: HOUR })
      return countRows(client, call)
    }

    beforeAll(() => client.connect())
    afterAll(() => client.end())

    test('prepare reads a few rows', async () => {
      expect(await visited(() => store.prepare({ longestLifetime: HOUR }))).toBeLessThan(FEW)
    })

    test('a lookup reads a row for each key', async () => {
      const keys = (['token', 'session', 'user', 'all'] as const).map((kind) => ({ kind, id: 'token-7' }))
      expect(await visited(async () => store.lookup(keys))).toBeLessThan(FEW)
    })

    test('sessions are opened, rotated, presented and found by a few rows', async () => {
      const given = { user: 'ada', expiresAt: FOREVER, until: FOREVER, ip: null, userAgent: null }
      expect(await visited(() => sessions().open({ ...given, nonce: 'N'.repeat(14) }))).toBeLessThan(FEW)
      const sid = sidAt(4)
      const token = { id: 'token', parent: 'parent', generation: 3, issuedAt: startedAt }
      const rotate = async (presented: PresentedToken, outcome: string): Promise<void> => {
        expect(await sessions().rotate(sid, presented, RULES)).toMatchObject({ outcome })
      }
      expect(await visited(() => rotate(token, 'advanced'))).toBeLessThan(FEW)
      expect(await visited(() => rotate({ ...token, issuedAt: Date.now() }, 'kept'))).toBeLessThan(FEW)
      expect(await visited(() => sessions().present(sid, token, RULES))).toBeLessThan(FEW)
      // A reuse revokes.
      const used = { ...token, parent: 'another' }
      expect(await visited(() => rotate(used, 'reused'))).toBeLessThan(2 * FEW)
      expect(await visited(() => sessions().present(sid, used, RULES))).toBeLessThan(2 * FEW)
      expect(await visited(() => sessions().get(sid, RULES))).toBeLessThan(FEW)
    })

    test.each(['token', 'session', 'user', 'key', 'all'] as const)(
      'revoking one %s reads a few rows',
      async (kind) => {
        const id = { token: 'x', session: sidAt(6), user: 'ada', key: 'k', all: '' }[kind]
        expect(
          await visited(() => store.revoke([{ kind, id, notBefore: FOREVER, until: FOREVER }])),
        ).toBeLessThan(FEW)
      },
    )

    test('revoking many sessions reads a few rows for each', async () => {
      const batch = Array.from({ length: 500 }, (_, at) => ({
        kind: 'session' as const,
        id: sidAt(2 * at + 2),
        notBefore: FOREVER,
        until: FOREVER,
      }))
      expect(await visited(() => store.revoke(batch))).toBeLessThan(10 * batch.length)
    })

    test.each([1, 20, PAGE])('a page of %i sessions reads as many', async (limit) => {
      const options = { limit, idleMs: FOREVER }
      for (const before of [null, sidAt(GROWN / 2), sidAt(GROWN)]) {
        const rows = await visited(() => sessions().list('ada', { ...options, before }))
        expect(rows).toBeLessThan(limit + FEW)
      }
      // Of somebody with one session, none but that.
      const rows = await visited(() => sessions().list('user-7', { ...options, before: null }))
      expect(rows).toBeLessThan(FEW)
    })

    test('reading all pages reads every session once, live or not', async () => {
      for (const [idleMs, live] of [
        [FOREVER, GROWN / 2],
        [1, 0],
      ] as const) {
        let listed = 0
        const rows = await visited(async () => {
          for (let before: string | null = null; ;) {
            const page: readonly { sid: string }[] = await sessions().list('ada', {
              limit: PAGE,
              before,
              idleMs,
            })
            listed += page.length
            if (page.length < PAGE) return
            before = page.at(-1)?.sid ?? null
          }
        })
        expect(listed).toBe(live)
        // And once more for each page what says that nothing is lost.
        expect(rows).toBeLessThan(1.1 * (GROWN / 2))
      }
    })

    test('a page of the feed reads as many rows as it has, and none where there is no news', async () => {
      let next = ''
      expect(await visited(async () => void ({ next } = await store.feed(null, { waitMs: 0 })))).toBeLessThan(
        PAGE + FEW,
      )
      const [epoch, timeline] = next.split(':')
      for (const [change, most] of [
        [GROWN / 2, PAGE],
        [GROWN, 0],
      ] as const) {
        const rows = await visited(() => store.feed(`${epoch}:${timeline}:${change}`, { waitMs: 0 }))
        expect(rows).toBeLessThan(most + FEW)
      }
    })

    test('spending an id reads a row', async () => {
      const ids = ['id-7', 'id-7', 'new', 'new']
      const answers: (boolean | undefined)[] = []
      const rows = await visited(async () => {
        for (const id of ids) answers.push(await store.spend?.(id, HOUR))
      })
      expect(answers).toEqual([false, false, true, false])
      expect(rows).toBeLessThan(FEW)
    })

    test('dropping what has ended reads no rows that have not', async () => {
      expect(await visited(() => store.prune(PAGE))).toBeLessThan(FEW)
    })
  })
})
