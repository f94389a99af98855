/**
 * A text without the spaces and tabs around it, which alone may stand there (RFC 9110 §5.6.3, RFC 6265bis §5.6).
 *
 * What else `String.trim` takes away is part of a name, or of a token, and makes another one of it.
 */
export function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (isBlank(text.charCodeAt(start))) start++
  while (isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
