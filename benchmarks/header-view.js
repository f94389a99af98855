/** A request with nothing but an `Authorization` header, as the library sees requests. */
export class HeaderView {
  method = 'GET'
  url = '/me'
  #authorization

  /** @param {string} authorization */
  constructor(authorization) {
    this.#authorization = authorization
  }

  /** @param {string} name */
  header(name) {
    return name.toLowerCase() === 'authorization' ? this.#authorization : null
  }

  async body() {}
}

/**
 * New requests with copies of tokens: nothing that was remembered for a request or a string helps.
 *
 * @param {readonly string[]} tokens
 */
export function createViews(tokens) {
  return tokens.map((token) => new HeaderView(Buffer.from(`Bearer ${token}`, 'latin1').toString('latin1')))
}
