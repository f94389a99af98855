import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const LIMIT_BYTES = 20_000

/** An application that uses the manager pays less than the limit for it, bundled, minified and gzipped. */
export async function checkSize({ root }) {
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
    tsconfigRaw: {}, // the repository's own maps tokenlib to src, and what counts is what is published
  })
  const [bundle] = outputFiles
  const bytes = gzipSync(bundle.contents, { level: 9 }).length
  const figure = `${bytes} bytes of ${LIMIT_BYTES}, minified and gzipped`
  if (bytes >= LIMIT_BYTES) throw new Error(figure)
  return figure
}
