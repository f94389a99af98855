// Compiled by `npm run typecheck`, never run, with experimentalDecorators off.
import { TokenConfig, TokenManager } from 'tokenlib'

const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: 's' }) })

export class Application {
  @tokens.setCallbackTokenBlocklist
  static isRevoked(token: string): boolean {
    return token === ''
  }

  @tokens.setTokenBlocklist
  async isRevoked(token: string): Promise<boolean> {
    return token === ''
  }

  // @ts-expect-error an answer is a boolean
  @tokens.setCallbackTokenBlocklist
  broken(): number {
    return 1
  }
}
