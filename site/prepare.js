// Gathers the pages of the site in build/site-source: docs/ unchanged, and the generated pages.
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { splitChart } from './markdown/charts.js'
import { NAVIGATION } from './navigation.js'
import { writeReference } from './reference.js'
import { expand } from './side-bar.js'
import { CHARTS, listSources, ROOT, SOURCE_FOLDER, toSitePath } from './sources.js'

const site = fileURLToPath(new URL('.', import.meta.url))

/** Writes every page and image. */
export async function prepare() {
  rmSync(SOURCE_FOLDER, { recursive: true, force: true })
  cpSync(join(site, 'public'), join(SOURCE_FOLDER, 'public'), { recursive: true })
  // The picture of the landing page is not a part of its text.
  copy('docs/images/example-dark.png', 'public/images/example-dark.png')
  for (const [from, to] of listSources()) copy(from, to)
  for (const [from, to] of Object.entries(CHARTS)) {
    const { light, dark } = splitChart(readFileSync(join(ROOT, from), 'utf8'))
    write(to.replace('.svg', '-light.svg'), light)
    write(to.replace('.svg', '-dark.svg'), dark)
  }
  write('index.md', createLandingPage())
  write('decisions/index.md', createDecisionsPage())
  await writeReference()
}

/** Copies pages of docs/ again when they change, until the process ends. */
export function watchDocs() {
  watch(join(ROOT, 'docs'), { recursive: true }, (_, name) => {
    const from = `docs/${name?.replaceAll('\\', '/')}`
    const to = toSitePath(from)
    if (to === null) return
    try {
      copy(from, to)
    } catch {
      // It was removed, or an editor is about to put a new one in its place.
    }
  })
}

// Uses the code of README.md, which the tests run.
function createLandingPage() {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const [code] = /^```ts\n[^]*?^```$/m.exec(readme) ?? []
  if (code === undefined) throw new Error('README.md has no code to show')
  return readFileSync(join(site, 'index.md'), 'utf8').replace('<!-- the code of README.md -->', () => code)
}

function createDecisionsPage() {
  const items = NAVIGATION.flatMap(({ items }) => items).find(({ folder }) => folder === 'decisions')
  const lines = expand(items).map(({ text, page }) => `- [${text}](./${page.split('/').at(-1)}.md)`)
  return [
    '# Decisions',
    '',
    'Why things are as they are: half a page for each choice that a newcomer would question.',
    '',
    ...lines,
    '',
  ].join('\n')
}

function copy(from, to) {
  const target = join(SOURCE_FOLDER, to)
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(join(ROOT, from), target)
}

function write(path, text) {
  const target = join(SOURCE_FOLDER, path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text)
}
