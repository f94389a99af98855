import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const RECORD = new URL('./size.json', import.meta.url)
// Compressed sizes differ a little between versions of zlib.
const TOLERANCE_BYTES = 100

// Data, not code: fingerprints of published secrets, which no compression makes smaller.
const DATA = './published-secrets.js'

/**
 * What an application pays for `import { TokenManager }`, bundled, minified and gzipped, beside the recorded size.
 *
 * Not a limit: a change that makes the bundle larger records it (`npm run gates -- --record-size`), so that growth is
 * seen in the diff.
 */
export async function checkSize({ root, recordSize }) {
  const code = await measure(root, [DATA])
  const data = (await measure(root, [])) - code
  if (recordSize) writeFileSync(RECORD, `${JSON.stringify({ code, data }, null, 2)}\n`)
  const recorded = JSON.parse(readFileSync(RECORD, 'utf8'))
  const figure = `${code} bytes, minified and gzipped (${recorded.code} recorded), and ${data} of data (${recorded.data} recorded)`
  if (code > recorded.code + TOLERANCE_BYTES || data > recorded.data + TOLERANCE_BYTES) {
    throw new Error(`${figure}; if the growth is meant, record it: npm run gates -- --record-size`)
  }
  return figure
}

async function measure(root, external) {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { TokenManager } from 'tokenlib'; console.log(TokenManager)`,
      resolveDir: root,
    },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    external,
    write: false,
    logLevel: 'silent',
    tsconfigRaw: {}, // the repository's own maps tokenlib to src, and what counts is what is published
  })
  const [bundle] = outputFiles
  return gzipSync(bundle.contents, { level: 9 }).length
}
