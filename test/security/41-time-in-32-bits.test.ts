import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { forge, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const

/** Claims of a token that is good from a minute before a moment to ten minutes after it. */
const claimsAt = (now: number): object => ({
  sub: 'ada',
  type: 'access',
  jti: 'later',
  iat: now - 60,
  exp: now + 600,
})

/** At a moment that 32 bits cannot hold, what is over is over and what is to come has not begun. */
async function attackAt({ open, setTime }: Lab, now: number): Promise<void> {
  setTime(now)
  const claims = claimsAt(now)
  const verifier = await open(OPTIONS, forge({ claims }))
  await verifier.accepts(forge({ claims: { ...claims, nbf: now - 1 } }))
  // Cut to 32 bits, the clock would show a time long before each of these.
  const over = [now - 1, now - 86_400, 2 ** 31 - 1, 2 ** 31, 1_767_225_600].filter((exp) => exp < now)
  for (const exp of over) await verifier.refuses(forge({ claims: { ...claims, exp } }))
  // Cut to 32 bits, each of these would lie in the past.
  for (const nbf of [now + 60, now + 2 ** 31, now + 2 ** 32]) {
    await verifier.refuses(forge({ claims: { ...claims, nbf } }))
  }
}

describeAttacks('a clock of 32 bits (hono, fixed in e4602ad)', () => {
  attack('in 2038, when a signed one turns negative', async (lab) => attackAt(lab, 2 ** 31 + 86_400))

  attack('in 2106, when an unsigned one starts again', async (lab) => attackAt(lab, 2 ** 32 + 86_400))

  attack('a token that lives longer than 32 bits', async ({ open }) => {
    const claims = { ...claimsAt(1_767_225_600), exp: 2 ** 32 + 5 }
    const verifier = await open(OPTIONS, forge({ claims }))
    await verifier.accepts(forge({ claims: { ...claims, exp: 2 ** 31 + 5 } }))
    // Cut to 32 bits, this one would be in the past of everything.
    await verifier.refuses(forge({ claims: { ...claims, nbf: 2 ** 32 + 1 } }))
  })
})
