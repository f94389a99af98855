import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import { attack, describeAttacks } from './harness/attack.js'
import { forge } from './harness/forge.js'
import { openAs } from './harness/keys-for.js'

const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwks = {
  keys: [{ ...attacker.publicKey.export({ format: 'jwk' }), kid: 'mine', alg: 'RS256', use: 'sig' }],
}

let server: Server
let origin: string
let visits: string[]

/** A token of the attacker that says where its key is to be found. */
const pointTo = (members: object): string =>
  forge({
    algorithm: 'RS256',
    key: attacker.privateKey,
    header: { alg: 'RS256', typ: 'JWT', kid: 'mine', ...members },
  })

/** Whoever was to come has come before this last visit, which shows that visits are seen. */
async function readVisits(): Promise<string[]> {
  await fetch(`${origin}/last`)
  const seen = visits
  visits = []
  return seen
}

describeAttacks(
  'a token that says where its key is (RFC 8725 §3.10, CVE-2026-48522, CVE-2026-102267)',
  () => {
    beforeAll(async () => {
      visits = []
      server = createServer((request, response) => {
        visits.push(request.url ?? '')
        if (request.url === '/moved') return void response.writeHead(302, { location: '/jwks.json' }).end()
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(jwks))
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    })
    afterAll(() => void server.close())

    attack('jku: the address of a set of keys', async (lab) => {
      const verifier = await openAs(lab, 'RS256')
      for (const path of ['/jwks.json', '/moved', '/.well-known/jwks.json?kid=mine#key']) {
        await verifier.refuses(pointTo({ jku: origin + path }))
      }
      expect(await readVisits()).toStrictEqual(['/last'])
    })

    attack('x5u: the address of a certificate', async (lab) => {
      const verifier = await openAs(lab, 'RS256')
      for (const path of ['/cert.pem', '/moved']) await verifier.refuses(pointTo({ x5u: origin + path }))
      expect(await readVisits()).toStrictEqual(['/last'])
    })

    attack('an address in kid, iss or another member', async (lab) => {
      const verifier = await openAs(lab, 'RS256')
      const address = `${origin}/jwks.json`
      for (const members of [
        { kid: address },
        { iss: origin },
        { jwks_uri: address },
        { url: address },
        { jwk: address },
      ]) {
        await verifier.refuses(pointTo(members))
      }
      expect(await readVisits()).toStrictEqual(['/last'])
    })

    attack('the address of a file, or of the key itself', async (lab) => {
      const folder = mkdtempSync(join(tmpdir(), 'jku-'))
      const file = join(folder, 'jwks.json')
      writeFileSync(file, JSON.stringify(jwks))
      const data = `data:application/json;base64,${Buffer.from(JSON.stringify(jwks)).toString('base64')}`
      try {
        const verifier = await openAs(lab, 'RS256')
        for (const url of [pathToFileURL(file).href, file, data, `//${origin.slice(7)}/jwks.json`]) {
          await verifier.refuses(pointTo({ jku: url }))
          await verifier.refuses(pointTo({ x5u: url }))
        }
        expect(await readVisits()).toStrictEqual(['/last'])
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  },
)
