import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

// Promised in docs/client.md. Unlike the size of the server's bundle, every visitor of a page pays for it.
const MAX_BYTES = 4000

/** What a page pays for `@tokenlib/client`, bundled, minified and gzipped: at its start, and for its first socket. */
export async function checkClientSize({ root }) {
  const { metafile, outputFiles } = await build({
    stdin: { contents: `export * from '@tokenlib/client'`, resolveDir: root, sourcefile: 'start.js' },
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
  let [start, later] = [0, 0]
  for (const [index, { entryPoint = 'start.js' }] of Object.values(metafile.outputs).entries()) {
    const bytes = gzipSync(outputFiles[index].contents, { level: 9 }).length
    // What both share is loaded at the start.
    if (entryPoint.endsWith('socket.js')) later += bytes
    else start += bytes
  }
  const bundle = gzipSync(readFileSync(join(root, 'packages/client/dist/bundle.js')), { level: 9 }).length
  const figure = `${start} of at most ${MAX_BYTES} bytes at the start and ${later} for the first socket, minified and gzipped; ${bundle} in one file`
  if (start > MAX_BYTES || later === 0) throw new Error(figure)
  return figure
}
