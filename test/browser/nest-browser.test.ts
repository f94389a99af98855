import { readdirSync, readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { logIn, type NestApplication, startNestApplication, visit } from './open-nest-browser.js'

const SOURCE = new URL('../../examples/nest-browser/', import.meta.url)

test('the application has at most 150 lines without its user table, none of them long', () => {
  const files = readdirSync(SOURCE, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== 'users.ts',
  )
  const lines = files
    .flatMap(({ parentPath, name }) => readFileSync(`${parentPath}/${name}`, 'utf8').split('\n'))
    .filter((line) => line.trim() !== '')
  expect(lines.length).toBeLessThanOrEqual(150)
  expect(lines.filter((line) => line.length > 110)).toEqual([])
})

// nest-browser.long.test.ts has more.
describeWithChromium('the NestJS application in a browser', (browser) => {
  let application: NestApplication
  beforeAll(async () => {
    application = await startNestApplication()
    return () => application.stop()
  }, 60_000)

  test('no page can frame it', async () => {
    const response = await fetch(application.url)
    await response.arrayBuffer()
    expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })

  test('shows the claims of the user who logs in, and why somebody cannot', async () => {
    const { page } = await visit(browser(), application.url)
    await logIn(page, 'grace', 'wrong')
    await page.getByText('CREDENTIALS_INVALID').waitFor()
    await logIn(page, 'grace', 'battery staple')
    await page.getByText('"role": "reader"').waitFor()
    await page.reload()
    await page.getByText('"user": "grace"').waitFor()
    expect(application.audit).toContainEqual(expect.objectContaining({ event: 'loggedIn', sub: 'grace' }))
  })
})
