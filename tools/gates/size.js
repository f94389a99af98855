import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const RECORD = new URL('./size.json', import.meta.url)
// Compressed sizes differ a little between versions of zlib.
const TOLERANCE_BYTES = 100

const MOST_FILES = 150

/**
 * What an application pays for `import { TokenManager }`, bundled, minified and gzipped, and what npm downloads, next to
 * the recorded sizes.
 *
 * Not a limit: a change that makes one of them larger records it (`npm run gates -- --record-size`), so that growth is
 * seen in the diff. The number of files has a limit.
 */
export async function checkSize({ root, recordSize, packages }) {
  const [{ size: packed, paths }] = packages
  const bundled = await measure(root)
  if (recordSize) writeFileSync(RECORD, `${JSON.stringify({ bundled, packed }, null, 2)}\n`)
  const recorded = JSON.parse(readFileSync(RECORD, 'utf8'))
  const figure = [
    `${bundled} bytes minified and gzipped (${recorded.bundled} recorded)`,
    `${packed} packed (${recorded.packed} recorded) in ${paths.size} of at most ${MOST_FILES} files`,
  ].join(', ')
  if (paths.size > MOST_FILES) throw new Error(figure)
  if (bundled > recorded.bundled + TOLERANCE_BYTES || packed > recorded.packed + TOLERANCE_BYTES) {
    throw new Error(`${figure}; if the growth is meant, record it: npm run gates -- --record-size`)
  }
  return figure
}

async function measure(root) {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { TokenManager } from 'tokenlib'; console.log(TokenManager)`,
      resolveDir: root,
    },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'silent',
    tsconfigRaw: {}, // the repository's own maps tokenlib to its sources, and what counts is what is published
  })
  const [bundle] = outputFiles
  return gzipSync(bundle.contents, { level: 9 }).length
}
