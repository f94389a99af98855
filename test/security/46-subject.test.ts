import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { withBearer } from '../helpers/manager.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

// What a document store would take for "whoever it is".
const QUERIES = [{ $ne: null }, { $gt: '' }, { $regex: '.*' }]
const NO_NAMES: readonly unknown[] = [
  0,
  1,
  -1,
  1.5,
  true,
  false,
  null,
  '',
  [],
  ['ada'],
  {},
  { toString: 'ada' },
]
const NO_SUBJECTS: readonly unknown[] = [...NO_NAMES, ...QUERIES]

describeAttacks('a subject that is no name (RFC 7519 §4.1.2, CWE-943)', () => {
  ownAttack('a subject that is no text, or an empty one', async () => {
    const asked: unknown[] = []
    const tokens = createManager({}, (subject) => (asked.push(subject), { subject }))
    expect(await tokens.getCurrentSubject(withBearer(forge()))).toEqual({ subject: 'ada' })
    for (const sub of NO_SUBJECTS) {
      const request = withBearer(forge({ claims: { ...CLAIMS, sub } }))
      await expect(tokens.getCurrentSubject(request)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
    expect(asked).toEqual(['ada'])
  })

  ownAttack('no subject at all', async () => {
    const tokens = createManager()
    await tokens.verify(forge())
    const { sub: _, ...claims } = CLAIMS
    for (const others of [{}, { uid: 'ada' }, { Sub: 'ada' }, { 'sub ': 'ada' }]) {
      const token = forge({ claims: { ...claims, ...others } })
      await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('two identities in one token: only the configured claim counts', async () => {
    const tokens = createManager({ JWT_IDENTITY_CLAIM: 'user_id' })
    const check = (claims: object) => tokens.verify(forge({ claims: { ...CLAIMS, ...claims } }))
    expect((await check({ user_id: 'ada', sub: 'root' })).sub).toBe('ada')
    await expect(check({ sub: 'root' })).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    for (const user_id of NO_SUBJECTS) {
      await expect(check({ user_id, sub: 'root' })).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('a token for a subject that is no name cannot be made', () => {
    const tokens = createManager()
    expect(tokens.createAccessToken({ uid: 'ada' })).toEqual(expect.any(String))
    for (const uid of [...NO_SUBJECTS, undefined, new String('ada'), Symbol('ada')]) {
      expect(() => tokens.createAccessToken({ uid: uid as string })).toThrow(TypeError)
    }
    expect(() => tokens.createAccessToken({ uid: 'ada', sub: 'root' })).toThrow(TypeError)
  })
})

function createManager(
  options: TokenConfigOptions = {},
  find: (subject: string) => object = (subject) => ({ subject }),
): TokenManager {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }),
    subjectGetter: (subject) => find(subject),
  })
}
