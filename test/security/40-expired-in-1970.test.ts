import { attack, describeAttacks } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const

describeAttacks('expiries that are falsy, negative, or just over (RFC 7519 §4.1.4)', () => {
  attack('an expiry of nought is 1970, not never', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const { exp: _, ...others } = CLAIMS
    const text = JSON.stringify(others).slice(0, -1)
    for (const json of ['0', '-0', '0.0', '0e9', '1e-400', '-1e-400']) {
      await verifier.refuses(forge({ claims: `${text},"exp":${json}}` }))
    }
  })

  attack('an expiry before 1970, and long before', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const { exp: _, ...others } = CLAIMS
    const text = JSON.stringify(others).slice(0, -1)
    for (const json of ['-1', '-0.5', `${-NOW}`, '-9007199254740993', '-1e300', '-1e400']) {
      await verifier.refuses(forge({ claims: `${text},"exp":${json}}` }))
    }
  })

  attack('a token is over in the very second of its expiry', async ({ open, setTime }) => {
    const verifier = await open(OPTIONS, forge())
    setTime(CLAIMS.exp - 1)
    await verifier.accepts(forge())
    setTime(CLAIMS.exp)
    await verifier.refuses(forge())
    setTime(CLAIMS.exp + 1)
    await verifier.refuses(forge())
  })

  attack('a leeway is forgiven once, and ends', async ({ open, setTime }) => {
    const verifier = await open({ ...OPTIONS, leeway: 30 }, forge())
    setTime(CLAIMS.exp + 29)
    await verifier.accepts(forge())
    for (const seconds of [31, 60, 61, 90]) {
      setTime(CLAIMS.exp + seconds)
      await verifier.refuses(forge())
    }
    setTime(NOW)
    await verifier.refuses(forge({ claims: { ...CLAIMS, nbf: NOW + 31 } }))
  })
})
