import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

// Promised in docs/client.md. Unlike the size of the server's bundle, every visitor of a page pays for it.
const MAX_BYTES = 3072

/** What a page pays for `tokenlib/client`, bundled, minified and gzipped. */
export async function checkClientSize({ root }) {
  const { outputFiles } = await build({
    stdin: { contents: `export * from 'tokenlib/client'`, resolveDir: root },
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    write: false,
    logLevel: 'silent',
    tsconfigRaw: {}, // the repository's own maps tokenlib to src, and what counts is what is published
  })
  const [bundle] = outputFiles
  const bytes = gzipSync(bundle.contents, { level: 9 }).length
  const figure = `${bytes} of at most ${MAX_BYTES} bytes, minified and gzipped`
  if (bytes > MAX_BYTES) throw new Error(figure)
  return figure
}
