/** The text of a body, or why there is none. */
export type BodyText = { readonly text: string } | { readonly refusal: 'too large' | 'not UTF-8' }

/** Reads the body of a request, up to a number of bytes. From a copy: the request can still be read afterwards. */
export async function readBodyText(request: Request, maxBytes: number): Promise<BodyText> {
  if (Number(request.headers.get('content-length')) > maxBytes) return { refusal: 'too large' }
  const stream: ReadableStream<Uint8Array> | null = request.clone().body
  if (stream === null) return { text: '' }
  const reader = stream.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let size = 0
  // Not a for...of loop: leaving one waits until the copy is cancelled, which waits for the original to be read.
  for (;;) {
    const { done, value } = await reader.read()
    size += value?.byteLength ?? 0
    if (size > maxBytes) {
      reader.cancel().catch(() => {})
      return { refusal: 'too large' }
    }
    try {
      text += decoder.decode(value, { stream: !done })
    } catch {
      return { refusal: 'not UTF-8' }
    }
    if (done) return { text }
  }
}
