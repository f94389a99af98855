import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** Serves the files of a folder below a path, as a plain web server does, on a free port of this machine. */
export async function serveFolder(folder, base = '/') {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname)
    const file = path.startsWith(base) ? findFile(folder, path.slice(base.length)) : null
    const found = file ?? join(folder, '404.html')
    response.writeHead(file === null ? 404 : 200, {
      'content-type': TYPES[extname(found)] ?? 'application/octet-stream',
    })
    createReadStream(found).pipe(response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}${base}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function findFile(folder, path) {
  const file = join(folder, normalize(`/${path}`))
  if (!existsSync(file)) return null
  if (statSync(file).isFile()) return file
  return existsSync(join(file, 'index.html')) ? join(file, 'index.html') : null
}
