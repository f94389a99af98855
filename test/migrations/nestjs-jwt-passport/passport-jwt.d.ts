// What the old application needs of passport-jwt, whose declarations are not installed.
declare module 'passport-jwt' {
  export const ExtractJwt: { fromAuthHeaderAsBearerToken(): (request: object) => string | null }
  export class Strategy {
    constructor(options: {
      readonly jwtFromRequest: (request: object) => string | null
      readonly secretOrKey: string
      readonly ignoreExpiration?: boolean
    })
    authenticate(request: object): void
  }
}
