import { fileURLToPath } from 'node:url'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { WsAdapter } from '@nestjs/platform-ws'
import { protectSockets } from 'tokenlib/nest'
import { AppModule, tokens } from './app.module.js'

const url = new URL(process.env['APP_URL'] ?? 'http://localhost:3000')
const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['error', 'warn'] })

const policy = "default-src 'self'; frame-ancestors 'none'"
app.useStaticAssets(fileURLToPath(new URL('public', import.meta.url)), {
  setHeaders: (response) => void response.setHeader('content-security-policy', policy),
})
const client = fileURLToPath(import.meta.resolve('@tokenlib/client/bundle'))
app.useStaticAssets(client, { prefix: '/client.js' })

// Sockets of this page only, each for as long as the session of its user.
const sockets = protectSockets(new WsAdapter(app), tokens, { origins: [url.origin], until: 'session' })
app.useWebSocketAdapter(sockets)
await app.listen(url.port, url.hostname)
console.log(`Open ${url.origin}, and log in as ada with the password "correct horse"`)
