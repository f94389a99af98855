import { attack, describeAttacks } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const expired = JSON.stringify({ ...CLAIMS, exp: CLAIMS.iat })

describeAttacks(
  'claims that are no object, so that no check applies (CVE-2026-107723, RFC 7519 §7.2)',
  () => {
    attack('a list', async ({ open }) => {
      const verifier = await open(OPTIONS, forge())
      for (const claims of ['[]', '[0]', `[${JSON.stringify(CLAIMS)}]`, '[["sub","ada"],["exp",0]]']) {
        await verifier.refuses(forge({ claims }))
      }
    })

    attack('a text', async ({ open }) => {
      const verifier = await open(OPTIONS, forge())
      for (const claims of ['""', '"ada"', JSON.stringify(expired)]) await verifier.refuses(forge({ claims }))
    })

    attack('a number, a truth value, or nothing', async ({ open }) => {
      const verifier = await open(OPTIONS, forge())
      for (const claims of ['0', '-1', '1e400', 'true', 'false', 'null'])
        await verifier.refuses(forge({ claims }))
    })

    attack('no JSON, and handed on as it is', async ({ open }) => {
      const verifier = await open(OPTIONS, forge())
      const broken = [
        '{',
        '{]',
        'sub=ada&admin=1',
        "{'sub':'ada'}",
        '{sub:"ada"}',
        '{"sub":"ada",}',
        'undefined',
        'NaN',
      ]
      for (const claims of [
        ...broken,
        ' ',
        `${expired}x`,
        `x${expired}`,
        `${expired}${JSON.stringify(CLAIMS)}`,
      ]) {
        await verifier.refuses(forge({ claims }))
      }
    })

    attack('the same in a token that does not call itself a JWT', async ({ open }) => {
      const verifier = await open(OPTIONS, forge({ header: { alg: 'HS256' } }))
      for (const claims of ['[]', '"ada"', '0', 'null', 'no JSON', `[${expired}]`]) {
        await verifier.refuses(forge({ header: { alg: 'HS256' }, claims }))
      }
    })
  },
)
