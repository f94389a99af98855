import { isUrlEncoded, readBodyText } from 'tokenlib/kit'
import { invalidRequest } from './oauth-error.js'

// Far more than a token and the credentials of a client need.
const MAX_BODY_BYTES = 64 * 1024

/** The parameters of a form, by name. */
export type Form = ReadonlyMap<string, string>

const forms = new WeakMap<Request, Promise<Form>>()

/** The parameters in the body of a request, or `OAuthError`; read once per request. */
export function parseForm(request: Request): Promise<Form> {
  const known = forms.get(request)
  if (known !== undefined) return known
  const form = parse(request)
  forms.set(request, form)
  return form
}

async function parse(request: Request): Promise<Form> {
  // RFC 7009 §2.1 and RFC 7662 §2.1: only this type. No script of another site needs a permission to send it, so nothing
  // here may rely on cookies alone.
  if (!isUrlEncoded(request.headers.get('content-type'))) {
    throw invalidRequest('The body must be of the type application/x-www-form-urlencoded', 415)
  }
  const body = await readBodyText(request, MAX_BODY_BYTES)
  if ('refusal' in body) {
    throw body.refusal === 'too large'
      ? invalidRequest(`The body is larger than ${MAX_BODY_BYTES} bytes`, 413)
      : invalidRequest('The body is not valid UTF-8')
  }
  const form = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(body.text)) {
    // RFC 6749 §3.2: parameters must not be included more than once. Another parser on the way may have kept the first.
    if (form.has(name)) throw invalidRequest('A parameter occurs more than once')
    // The same section: parameters without a value are treated as if they were omitted.
    form.set(name, value)
  }
  return form
}

/** The value of a parameter, or `null` if it is omitted or empty. */
export function readParameter(form: Form, name: string): string | null {
  return form.get(name) || null
}
