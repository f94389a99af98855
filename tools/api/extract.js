import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'
import { listSubpaths } from '../packages/entries.js'
import { listPackages } from '../packages/packages.js'
import { root } from '../shared/root.js'
import { toReports } from './reports.js'

/**
 * The API reports of the built packages: a map from the name of a file in `api` to its text.
 *
 * API Extractor reads the declarations in `dist`. All entry points share one program of its compiler, so that no file
 * is parsed twice.
 */
export function extractReports() {
  const entries = listPackages().flatMap(({ folder, manifest }) =>
    listSubpaths(manifest).map(({ specifier, types }) => ({
      specifier,
      name: toName(specifier),
      packageJson: join(root, folder, 'package.json'),
      file: join(root, folder, types),
    })),
  )
  mkdirSync(join(root, 'build'), { recursive: true })
  const folder = mkdtempSync(join(root, 'build/api-'))
  try {
    const configs = entries.map((entry) => createConfig(entry, folder))
    const compilerState = CompilerState.create(configs[0], {
      additionalEntryPoints: entries.map(({ file }) => file),
    })
    for (const config of configs) extractOne(config, compilerState)
    const texts = entries.map(({ name, specifier }) => ({
      name,
      title: specifier,
      text: readFileSync(join(folder, `${name}.api.md`), 'utf8'),
    }))
    return toReports(texts)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `tokenlib` for the root, `tokenlib.redis` for `tokenlib/redis`, `client` for `@tokenlib/client`. */
function toName(specifier) {
  return specifier.replace('@tokenlib/', '').replaceAll('/', '.')
}

function createConfig({ name, file, packageJson }, folder) {
  return ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: packageJson,
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: file,
      compiler: { overrideTsconfig: { extends: './tsconfig.json', compilerOptions: { paths: {} }, files: [] } },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: folder,
        reportTempFolder: join(folder, 'temporary'),
        // Types that an entry point refers to without exporting them: `toReports` keeps each of them once.
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
  })
}

function extractOne(config, compilerState) {
  const errors = []
  const { errorCount } = Extractor.invoke(config, {
    compilerState,
    localBuild: true,
    messageCallback: (message) => {
      if (message.logLevel === ExtractorLogLevel.Error) errors.push(message.formatMessageWithLocation(root))
      message.handled = true
    },
  })
  // A type that the compiler does not find would be in the report as `any`.
  if (errorCount > 0) throw new Error(`API Extractor cannot read the declarations\n${errors.join('\n')}`)
}
