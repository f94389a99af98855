// The API reference: one page for each entry point of the packages, from the exported types and their comments.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listPackages } from '../tools/packages/packages.js'
import { ROOT, SOURCE_FOLDER } from './sources.js'

/** The entry points: the name to import, the page and the source file of each. */
export function listEntryPoints() {
  return listPackages()
    .filter(({ manifest }) => manifest.types !== undefined)
    .flatMap(({ manifest, entries }) =>
      Object.entries(entries).map(([entry, source]) => {
        const name = entry === 'index' ? manifest.name : `${manifest.name}/${entry}`
        return { name, page: name.replace(/^@?tokenlib\/(?=.)/, ''), source }
      }),
    )
}

/** The reference in the side bar. */
export function listReferencePages() {
  return [
    { text: 'All entry points', page: 'reference/index' },
    ...listEntryPoints().map(({ name, page }) => ({ text: name, page: `reference/${page}` })),
  ]
}

/** Writes the pages of the reference. */
export async function writeReference() {
  const folder = join(SOURCE_FOLDER, 'reference')
  const entryPoints = listEntryPoints()
  mkdirSync(folder, { recursive: true })
  // The packages have a tsconfig.json each; typedoc takes one for all.
  const tsconfig = join(SOURCE_FOLDER, 'reference.tsconfig.json')
  const files = entryPoints.map(({ source }) => join(ROOT, source))
  writeFileSync(tsconfig, JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), files, include: [] }))
  // Large, and needed for nothing else.
  const { Application } = await import('typedoc')
  const application = await Application.bootstrapWithPlugins({
    entryPoints: files,
    tsconfig,
    basePath: join(ROOT, 'packages'),
    plugin: ['typedoc-plugin-markdown'],
    // `npm run typecheck` checks them, with the TypeScript of the repository.
    skipErrorChecking: true,
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    readme: 'none',
    router: 'module',
    groupOrder: ['Functions', 'Classes', 'Variables', 'Interfaces', 'Type Aliases', '*'],
    entryFileName: 'index',
    cleanOutputDir: false,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    expandObjects: false,
    useCodeBlocks: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    tableColumnSettings: { hideModifiers: true, hideInherited: true, hideOverrides: true, hideSources: true },
    pageTitleTemplates: {
      module: ({ name }) => toImportName(name, entryPoints),
      index: () => 'API reference',
    },
    logLevel: 'Error',
  })
  const project = await application.convert()
  if (project === undefined) throw new Error('typedoc could not read the sources')
  // Modules are named after their files. The name decides the title and the path of a page.
  for (const module of project.children ?? []) {
    const entryPoint = entryPoints.find(({ source }) => toModuleName(source) === module.name)
    if (entryPoint === undefined) throw new Error(`No entry point has the module ${module.name}`)
    module.name = entryPoint.page
  }
  await application.outputs.writeOutput({ name: 'markdown', path: folder }, project)
}

function toModuleName(source) {
  return source
    .replace(/^packages\//, '')
    .replace(/\.ts$/, '')
    .replace(/(.)\/index$/, '$1')
}

function toImportName(page, entryPoints) {
  return entryPoints.find((entryPoint) => entryPoint.page === page)?.name ?? page
}
