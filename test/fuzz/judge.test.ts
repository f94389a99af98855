import { beforeAll, describe, expect, test } from 'vitest'
import { createOracle, createOurs, type Oracle, type Ours, type Verdict } from './contestants.js'
import { createDraft, type Draft, NOW, setMember, toTokens } from './draft.js'
import { type Judgement, judgeToken } from './judge.js'
import { createRandom } from './random.js'
import { createSetups, type Setup } from './setups.js'

// Keys take a moment to make.
const LIMIT = 60_000
const AT = NOW * 1000
const REFUSED: Verdict = { kind: 'refused', code: 'TOKEN_INVALID' }
const accepted = (claims: Record<string, unknown>): Verdict => ({
  kind: 'accepted',
  claims: Object.freeze(Object.assign(Object.create(null) as object, claims)),
})

describe('of a verifier that is wrong', () => {
  let setup: Setup
  let oracle: Oracle
  let real: Ours
  beforeAll(async () => {
    setup = (await createSetups(1)).find(({ name }) => name === 'HS256') as Setup
    oracle = await createOracle(setup)
    real = createOurs(setup)
  }, LIMIT)

  const create = (change: (draft: Draft) => void = () => {}): string => {
    const draft = createDraft(setup, createRandom(1, 1), () => '')
    draft.payload.members = []
    setMember(draft.payload, 'sub', '"ada"')
    setMember(draft.payload, 'type', '"access"')
    change(draft)
    return toTokens(draft).token
  }
  const judge = async (
    token: string,
    verify: Ours['verify'],
    verifyRemembering = verify,
  ): Promise<Judgement> =>
    (await judgeToken(setup, { verify, verifyRemembering }, oracle, token, AT)).judgement
  const CLAIMS = { sub: 'ada', type: 'access' }

  test('nothing is said where it is right', async () => {
    expect(await judge(create(), real.verify, real.verifyRemembering)).toEqual({ kind: 'accepted' })
    expect(await judge(create(), () => accepted(CLAIMS))).toEqual({ kind: 'accepted' })
    expect(await judge('a.b.c', real.verify, real.verifyRemembering)).toEqual({ kind: 'refused' })
  })

  test('a token that it accepts in another spelling is seen, although the oracle accepts it as well', async () => {
    const padded = `${create()}=`
    expect(await judge(padded, real.verify)).toEqual({ kind: 'strict', rules: ['padding'] })
    expect(await judge(padded, () => accepted(CLAIMS))).toMatchObject({
      kind: 'disagreement',
      reason: 'we accept in spite of: padding',
    })
  })

  test('a token that the oracle refuses is seen', async () => {
    const critical = create(({ header }) => setMember(header, 'crit', '["exp"]'))
    expect(await judge(critical, () => accepted(CLAIMS))).toMatchObject({
      kind: 'disagreement',
      reason: expect.stringContaining('we accept what the oracle refuses') as string,
    })
    const early = create(({ payload }) => setMember(payload, 'nbf', String(NOW + 0.25)))
    expect(await judge(early, () => accepted({ ...CLAIMS, nbf: NOW + 0.25 }))).toMatchObject({
      kind: 'disagreement',
    })
  })

  test('a good token that it refuses is seen', async () => {
    expect(await judge(create(), () => REFUSED)).toMatchObject({
      kind: 'disagreement',
      reason: 'we refuse what the oracle accepts (TOKEN_INVALID)',
    })
  })

  test('an error that is not one of the library is seen, also of a bad token', async () => {
    const crash: Verdict = { kind: 'crashed', error: new RangeError('stack') }
    expect(await judge('a.b.c', () => crash)).toMatchObject({
      kind: 'disagreement',
      reason: 'we crash: RangeError: stack',
    })
  })

  test('a memory that answers differently is seen', async () => {
    const reason = 'a manager that remembers tokens says something else'
    const expired: Verdict = { kind: 'refused', code: 'TOKEN_EXPIRED' }
    expect(
      await judge(
        'a.b.c',
        () => REFUSED,
        () => expired,
      ),
    ).toMatchObject({ reason })
    expect(
      await judge(
        create(),
        () => accepted(CLAIMS),
        () => accepted({ ...CLAIMS, sub: 'eve' }),
      ),
    ).toMatchObject({ reason })
    const answers = [accepted(CLAIMS), REFUSED]
    expect(
      await judge(
        create(),
        () => accepted(CLAIMS),
        () => answers.shift() as Verdict,
      ),
    ).toMatchObject({ reason })
  })

  test.each<[string, Verdict]>([
    ['another subject', accepted({ ...CLAIMS, sub: 'eve' })],
    ['a claim more', accepted({ ...CLAIMS, admin: true })],
    ['a claim less', accepted({ sub: 'ada' })],
    ['a payload with a prototype', { kind: 'accepted', claims: Object.freeze({ ...CLAIMS }) }],
    [
      'a payload that can be changed',
      { kind: 'accepted', claims: Object.assign(Object.create(null) as object, CLAIMS) },
    ],
  ])('%s is seen', async (_, verdict) => {
    expect(await judge(create(), () => verdict)).toMatchObject({
      kind: 'disagreement',
      reason: expect.stringContaining('the claims differ') as string,
    })
  })
})
