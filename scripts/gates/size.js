import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const LIMIT_BYTES = 20_000
const DATA_LIMIT_BYTES = 16_000

// Data, not code: fingerprints of published secrets, which no compression makes smaller.
const DATA = './published-secrets.js'

/** An application that uses the manager pays less than the limit for it, bundled, minified and gzipped. */
export async function checkSize({ root }) {
  const code = await measure(root, [DATA])
  const data = (await measure(root, [])) - code
  const figure = `${code} bytes of ${LIMIT_BYTES}, minified and gzipped, and ${data} of ${DATA_LIMIT_BYTES} of data`
  if (code >= LIMIT_BYTES || data >= DATA_LIMIT_BYTES) throw new Error(figure)
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
