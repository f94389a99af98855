// npm run site [-- build] [-- --port 8080]
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build, createServer } from 'vitepress'
import { writeTexts } from './llms.js'
import { prepare, watchDocs } from './prepare.js'
import { relocate } from './relocate.js'
import { ROOT } from './sources.js'

const site = fileURLToPath(new URL('.', import.meta.url))
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string', default: '5173' }, host: { type: 'string', default: '127.0.0.1' } },
})
const [command = 'serve'] = positionals
process.env.SITE_COMMAND = command

await prepare()
if (command === 'build') {
  await build(site)
  const output = join(ROOT, 'build/site')
  relocate(output)
  copyFileSync(join(site, '404.html'), join(output, '404.html'))
  writeTexts(output)
} else {
  const server = await createServer(site, { port: Number(values.port), host: values.host })
  await server.listen()
  server.printUrls()
  watchDocs()
}
