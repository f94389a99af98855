/**
 * The element with an id, of a class.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} [type]
 * @returns {Kind}
 */
export function byId(id, type) {
  const found = document.getElementById(id)
  if (found instanceof (type ?? HTMLElement)) return /** @type {Kind} */ (found)
  throw new TypeError(`The page has no ${id}`)
}

/**
 * Appends texts and elements to an element.
 * @template {Element} Kind
 * @param {Kind} element
 * @param {...(string | Node)} content
 */
export function append(element, ...content) {
  element.append(...content)
  return element
}

// Controls, what sets the direction of text or is not seen, halves of surrogate pairs.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/**
 * An id, a name or an address in a sentence. Somebody else chose it: in an element of its own, with a border and quotation
 * marks, it cannot pass for a part of the sentence, turn its direction around or hide in it.
 * @param {string | null | undefined} text
 */
export function toValue(text) {
  const value = document.createElement('bdi')
  value.className = 'value'
  value.textContent = String(text).replaceAll(
    INVISIBLE,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  )
  return value
}

/**
 * Shows texts and elements in an element, or hides the element if they are empty.
 * @param {string} id
 * @param {string | readonly (string | Node)[]} content
 * @param {'bad' | ''} className
 */
export function showText(id, content, className) {
  const element = byId(id)
  const next = append(document.createElement('p'), ...(typeof content === 'string' ? [content] : content))
  // Set only if it differs: screen readers read it again otherwise.
  if (element.textContent !== next.textContent) element.replaceChildren(...next.childNodes)
  element.className = `notice ${className}`
  element.hidden = element.textContent === '' && id !== 'result'
}

/**
 * Fills a list of facts: term, value, class of the value.
 * @param {Element} list
 * @param {readonly (readonly string[])[]} facts
 */
export function fill(list, facts) {
  list.replaceChildren(
    ...facts.map(([term = '', value = '', className = '']) => {
      const description = append(document.createElement('dd'), value)
      description.className = className
      return append(document.createElement('div'), append(document.createElement('dt'), term), description)
    }),
  )
}

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/**
 * A moment, in the viewer's time zone.
 * @param {string} iso
 */
export function toTime(iso) {
  const time = append(document.createElement('time'), FORMAT.format(new Date(iso)))
  time.dateTime = iso
  time.title = iso
  return time
}

/**
 * How long ago something was.
 * @param {number | null} milliseconds
 */
export function toAge(milliseconds) {
  return milliseconds === null ? 'not yet' : `${toSeconds(milliseconds)} ago`
}

/**
 * A duration in seconds.
 * @param {number} milliseconds
 */
export function toSeconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`
}

/**
 * @template Answer
 * @typedef {{ answer: Answer, problem: null } | { answer: null, problem: string }} Reply
 */

/**
 * Calls the console's API; `problem` explains a failure. A call with a body is a change.
 * @template Answer
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<Reply<Answer>>}
 */
export async function requestJson(path, body) {
  const { csrfCookie = '', csrfHeader = '' } = document.body.dataset
  const csrf = readCookie(csrfCookie)
  const headers = new Headers({ accept: 'application/json' })
  if (csrf !== null) headers.set(csrfHeader, csrf)
  if (body !== undefined) {
    headers.set('content-type', 'application/json')
    headers.set('x-tokenlib-console', '1')
  }
  const change = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  try {
    const response = await fetch(path, { headers, ...change })
    const answer = /** @type {unknown} */ (await response.json().catch(() => ({})))
    if (!response.ok) return { answer: null, problem: toProblem(response.status, answer) }
    return { answer: /** @type {Answer} */ (answer), problem: null }
  } catch {
    return { answer: null, problem: 'The application does not answer.' }
  }
}

/** @type {Record<string, string>} */
const ADVICE = {
  CSRF_MISSING:
    'The console cannot read the CSRF value of your access cookie: set JWT_CSRF_IN_COOKIES, or guard the console by other means.',
  TOKEN_MISSING: 'Log in, in another tab if you like.',
  TOKEN_REVOKED: 'Log in again, in another tab if you like.',
}

/** @param {number} status @param {unknown} answer */
function toProblem(status, answer) {
  const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (answer ?? {})
  // The session may still be alive: the application renews the token when it sends the page.
  if (code === 'TOKEN_EXPIRED') return 'Your access has expired: reload the page.'
  const text = typeof message === 'string' ? message : `The application answered with status ${status}`
  return `${text}. ${ADVICE[String(code)] ?? ''}`.trim()
}

/** @param {string} name */
function readCookie(name) {
  const pair = document.cookie.split('; ').find((part) => part.startsWith(`${name}=`))
  return pair === undefined ? null : pair.slice(name.length + 1)
}
