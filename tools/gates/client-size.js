import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

// Promised in docs/client.md. Unlike the size of the server's bundle, every visitor of a page pays for it.
const MAX_BYTES = 4900
const MAX_DPOP_BYTES = 1336

/**
 * What a page pays for `@tokenlib/client`, bundled, minified and gzipped: at its start, for its first socket, and for a
 * key of the browser; and what an app pays for its storage.
 */
export async function checkClientSize({ root }) {
  const { metafile, outputFiles } = await bundle(`export * from '@tokenlib/client'`, root)
  let [start, later, stored] = [0, 0, 0]
  for (const [index, { entryPoint = 'start.js' }] of Object.values(metafile.outputs).entries()) {
    const bytes = gzipSync(outputFiles[index].contents, { level: 9 }).length
    // What both share is loaded at the start.
    if (entryPoint.endsWith('socket.js')) later += bytes
    else if (entryPoint.endsWith('stored-tokens.js')) stored += bytes
    else start += bytes
  }
  const key = await bundle(`export * from '@tokenlib/client/dpop'`, root)
  const dpop = gzipSync(key.outputFiles[0].contents, { level: 9 }).length
  const whole = gzipSync(readFileSync(join(root, 'packages/client/dist/bundle.js')), { level: 9 }).length
  const figure = `${start} of at most ${MAX_BYTES} bytes at the start, ${later} for the first socket, ${stored} for a storage and ${dpop} of at most ${MAX_DPOP_BYTES} for a key, minified and gzipped; ${whole} in one file`
  if (start > MAX_BYTES || later === 0 || stored === 0 || dpop > MAX_DPOP_BYTES) throw new Error(figure)
  return figure
}

function bundle(contents, root) {
  return build({
    stdin: { contents, resolveDir: root, sourcefile: 'start.js' },
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    write: false,
    outdir: root,
    absWorkingDir: root,
    logLevel: 'silent',
    tsconfigRaw: {}, // the repository's own maps tokenlib to its sources, and what counts is what is published
  })
}
