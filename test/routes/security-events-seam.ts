import { createLocalJWKSet, errors, jwtVerify } from 'jose'
import { RevokedTokenError, TokenAudienceError, TokenDecodeError, TokenIssuerError, TokenSignatureError } from '../../src/index.js'
import { parseDuration } from '../../src/time.js'
import { createRevocable } from '../helpers/revocable.js'

export function createSeam(providers: readonly { issuer: string; jwk: object }[]) {
  const { tokens: real, clock, store } = createRevocable()
  const gone = new Set<string>()
  const prefix = (issuer: string) => `${new URL(issuer).host}:`
  const verify = async (jwt: string, issuer?: string | readonly string[]) => {
    let iss: string
    try { iss = (JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as { iss: string }).iss } catch { throw new TokenDecodeError('malformed') }
    const provider = providers.find((each) => each.issuer === iss)
    if (provider === undefined || (issuer !== undefined && ![issuer].flat().includes(iss))) throw new TokenIssuerError()
    try {
      const { payload, protectedHeader } = await jwtVerify(jwt, createLocalJWKSet({ keys: [provider.jwk as never] }), { currentDate: new Date(clock()) , algorithms: ['ES256']})
      return { header: protectedHeader, claims: payload as Record<string, unknown>, issuer: iss }
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey) throw new TokenSignatureError()
      throw new TokenDecodeError(String(error))
    }
  }
  const tokens = {
    clock: real.clock,
    keepsRevocations: true,
    on: real.on.bind(real),
    createAccessToken: real.createAccessToken.bind(real),
    async verifyIssuedJwt(jwt: string, { typ, optionalTyp = false, audience, issuer, maxAge }: any) {
      const { header, claims, issuer: iss } = await verify(jwt, issuer)
      const aud = [claims['aud']].flat()
      if (header.typ === undefined ? !optionalTyp : ![typ].flat().includes(header.typ)) throw new TokenDecodeError('typ')
      if (!aud.some((each) => [audience].flat().includes(each))) throw new TokenAudienceError()
      const now = clock() / 1000
      if (typeof claims['iat'] === 'number' && (claims['iat'] > now + 60 || claims['iat'] + parseDuration(maxAge) < now)) throw new TokenDecodeError('iat')
      return { header, claims, issuer: iss, isRevoked: gone.has(`token ${iss} ${String(claims['jti'])}`) }
    },
    async verifyToken(jwt: string) {
      if (jwt.includes('own')) return
      try { return await real.verifyToken(jwt) } catch (e) { if ((e as any).code === 'TOKEN_REVOKED') throw e }
      const { claims, issuer, header } = await verify(jwt)
      if (gone.has(`session ${issuer} ${String(claims['sid'])}`) || gone.has(`user ${issuer} ${prefix(issuer)}${String(claims['sub'])}`)) throw new RevokedTokenError(claims, header as never)
      return claims
    },
    toSubject: (issuer: string, sub: string) => {
      if (!providers.some((each) => each.issuer === issuer)) throw new TypeError('unknown issuer')
      return `${prefix(issuer)}${sub}`
    },
    async revokeToken({ jti, iss, exp }: any, options: any) { const a = await real.revokeToken({ jti, exp }, options); gone.add(`token ${iss} ${jti}`); return a },
    async revokeSession({ sid, sub }: any, { issuer, ...options }: any) { const a = await real.revokeSession({ sid, sub }, options); gone.add(`session ${issuer} ${sid}`); return a },
    async revokeUser(uid: string, { issuer, ...options }: any) { const a = await real.revokeUser(uid, options); gone.add(`user ${issuer} ${uid}`); return a },
  }
  return { tokens, clock, store }
}
