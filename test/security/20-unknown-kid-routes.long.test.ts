import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { isTokenError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createForeign } from '../helpers/foreign.js'
import { PATIENT, SECRET } from '../helpers/manager.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

const A = createForeign('https://a.example')
const FLOOD = 4000
const AT_ONCE = 50
const COOLDOWN_SECONDS = 1

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

describeAttacks('a flood of unknown kids through a guarded route (CVE-2026-59396)', () => {
  ownAttack(
    'all are refused, one request per cool-down is sent, and good tokens pass meanwhile',
    async () => {
      let fetches = 0
      const jwksUri = await listen(
        createServer((_, response) => {
          fetches++
          response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [A.jwk] }))
        }),
      )
      const keys = {
        jwksUri,
        allowPrivateNetwork: true,
        cooldown: `${COOLDOWN_SECONDS}s`,
        maxAge: '1h',
      } as const
      const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
      const tokens = new TokenManager({ config, issuers: [A.trust({ keys })] })
      const url = await listen(
        createServer((request, response) => {
          tokens.accessTokenRequired(request).then(
            () => response.end(),
            (error: unknown) => {
              response.statusCode =
                isTokenError(error) && error.code === 'TOKEN_SIGNATURE_INVALID' ? 401 : 500
              response.end()
            },
          )
        }),
      )
      const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
      onTestFinished(() => agent.destroy())
      const call = async (token: string): Promise<number> => {
        const sent = send(url, { agent, headers: { authorization: `Bearer ${token}` } }).end()
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        response.resume()
        await once(response, 'end')
        return response.statusCode ?? 0
      }
      expect(await call(A.sign())).toBe(200)

      const counts = new Map<string, number>()
      const startedAt = performance.now()
      let sent = 0
      const worker = async (): Promise<void> => {
        while (sent < FLOOD) {
          const at = sent++
          const flooded = await call(A.sign({ jti: `${at}` }, { kid: `unknown-${at}` }))
          counts.set(`flood ${flooded}`, (counts.get(`flood ${flooded}`) ?? 0) + 1)
          if (at % 10 > 0) continue
          const good = await call(A.sign({ jti: `good-${at}` }))
          counts.set(`good ${good}`, (counts.get(`good ${good}`) ?? 0) + 1)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
      const seconds = (performance.now() - startedAt) / 1000
      console.log(
        `${FLOOD} tokens with unknown kids in ${seconds.toFixed(1)} s: ${JSON.stringify(Object.fromEntries(counts))}, ` +
          `${fetches} requests for keys, ${((60 * fetches) / seconds).toFixed(0)} per minute ` +
          `(at most ${60 / COOLDOWN_SECONDS} per minute and the first)`,
      )
      expect(Object.fromEntries(counts)).toEqual({ 'flood 401': FLOOD, 'good 200': FLOOD / 10 })
      // The first one, and one for each cool-down that has begun.
      expect(fetches).toBeLessThanOrEqual(2 + Math.floor(seconds / COOLDOWN_SECONDS))
    },
  )
})
