/** What a request of the contract carries. */
export type Credential = 'none' | 'valid' | 'revoked' | 'garbage' | 'refresh'

/** What `/login` and `/refresh` answer. */
export interface IssuedPair {
  readonly access_token: string
  readonly refresh_token: string
}

/** A client of the example application; a route is written `GET /path`. */
export interface Client {
  send(route: string, token?: string): Promise<Response>
  json(route: string, token?: string): Promise<unknown>
  post(path: string, body: string): Promise<Response>
  preflight(path: string): Promise<Response>
  login(uid?: string): Promise<IssuedPair>
  /** A token of the kind, made by the application itself. */
  credential(kind: Credential): Promise<string | undefined>
}

/** A client of the application that listens at `url`. */
export function createClient(url: string): Client {
  const client: Client = {
    async send(route, token) {
      const [method = '', path = ''] = route.split(' ')
      return fetch(url + path, {
        method,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      })
    },
    json: async (route, token) => (await client.send(route, token)).json(),
    post: (path, body) =>
      fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    preflight: (path) =>
      fetch(url + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://page.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'authorization',
        },
      }),
    login: async (uid = 'ada') =>
      (await client.post('/login', JSON.stringify({ uid }))).json() as Promise<IssuedPair>,
    async credential(kind) {
      if (kind === 'none') return undefined
      if (kind === 'garbage') return 'aaaaa.bbbbb.ccccc'
      if (kind === 'refresh') return (await client.login()).refresh_token
      const { access_token: token } = (await client.json('GET /token')) as IssuedPair
      if (kind === 'revoked') await client.send('DELETE /logout', token)
      return token
    },
  }
  return client
}
