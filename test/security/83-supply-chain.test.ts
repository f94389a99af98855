import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { PACKAGES, readLibraryFiles } from '../helpers/library-files.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

interface PackageFile {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: object
  readonly bundleDependencies?: unknown
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly files: readonly string[]
}
interface LockFile {
  readonly packages: Readonly<
    Record<string, { dependencies?: object; hasInstallScript?: boolean; integrity?: string }>
  >
}

const root = new URL('../../', import.meta.url)
const readJson = <Value>(name: string): Value =>
  JSON.parse(readFileSync(new URL(name, root), 'utf8')) as Value
const manifests = readdirSync(PACKAGES).map((name) => readJson<PackageFile>(`packages/${name}/package.json`))
const FILES = readLibraryFiles()

/** What a file imports: the names, and whether only for types. Comments show imports that nobody makes. */
function importsOf(text: string): { readonly name: string; readonly isType: boolean }[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const found = code.matchAll(
    /^(?:import|export)\s+(type\s)?[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]/gm,
  )
  return [...found].map(([, type, from, bare]) => ({ name: from ?? bare ?? '', isType: type !== undefined }))
}

// Only the names of one's own framework; Nest alone is more than types, because it has a container.
const FRAMEWORKS =
  /^packages\/tokenlib\/src\/frameworks\/(elysia|express|fastify|h3|hono|koa|nest)(?:\.ts|\/)/

// What only these files may do. The keys of foreign issuers are fetched from the configured address, and its host is
// looked up before that. The command line loads the driver of the store that the operator names.
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'packages/cli/src/driver.ts': [
    "import { createRequire, isBuiltin } from 'node:module'",
    "createRequire(join(folder, 'package.json'))",
    'await import(path)',
  ],
  // The module that `doctor --app` names.
  'packages/cli/src/doctor/load-application.ts': ['await import(pathToFileURL(file).href)'],
  // Its own parts, which most pages do not need.
  'packages/client/src/token-keeper.ts': ["import('./stored-tokens.js')"],
  'packages/issuers/src/keys/fetch-json.ts': ['globalThis.fetch(url.href, request)'],
  'packages/issuers/src/opaque-tokens/endpoint.ts': ['globalThis.fetch(url.href, request)'],
  'packages/issuers/src/keys/network-address.ts': [
    // Addresses only: nothing of it opens a connection.
    "import { BlockList, isIPv4, isIPv6 } from 'node:net'",
    "getBuiltinModule?(name: 'node:dns')",
    "getBuiltinModule?.('node:dns')",
    '`getBuiltinModule`',
  ],
}

describeAttacks('code of strangers in the package (CWE-829, CWE-506)', () => {
  ownAttack(
    'an installation brings one package of others, the build contains another, and neither brings more',
    () => {
      const [installed, bundled] = ['@standard-schema/spec', 'cookie-es']
      for (const { name, ...manifest } of manifests) {
        const expected = name === 'tokenlib' ? [installed] : []
        expect(Object.keys(manifest.dependencies ?? {}).toSorted(), name).toEqual(expected)
        expect([manifest.optionalDependencies, manifest.bundleDependencies]).toEqual([undefined, undefined])
        // A peer that is not optional would be installed as well.
        const required = Object.keys(manifest.peerDependencies ?? {}).filter(
          (peer) => manifest.peerDependenciesMeta?.[peer]?.optional !== true,
        )
        expect(required, name).toEqual(['tokenlib', '@tokenlib/client'].includes(name) ? [] : ['tokenlib'])
      }
      const { packages } = readJson<LockFile>('package-lock.json')
      for (const name of [installed, bundled]) {
        const locked = packages[`node_modules/${name}`]
        expect(locked?.integrity, name).toMatch(/^sha512-/)
        expect([locked?.dependencies, locked?.hasInstallScript], name).toEqual([undefined, undefined])
      }
    },
  )

  ownAttack('nothing runs when a package is installed, and only its build is published', () => {
    const hooks = [
      'preinstall',
      'install',
      'postinstall',
      'prepublish',
      'preprepare',
      'prepare',
      'postprepare',
    ]
    for (const { name, scripts, files } of manifests) {
      expect(
        hooks.filter((hook) => hook in (scripts ?? {})),
        name,
      ).toEqual([])
      expect(files, name).toEqual(['dist'])
    }
  })

  ownAttack('no file imports anything but Node, ourselves, those two, and what it is an adapter for', () => {
    expect(FILES.length).toBeGreaterThan(80)
    const strangers = FILES.flatMap(({ path, text }) =>
      importsOf(text)
        .filter(({ name, isType }) => {
          if (/^(?:\.{1,2}\/|node:|tokenlib(?:\/|$))/.test(name) || name === 'cookie-es') return false
          if (name === '@standard-schema/spec') return !isType
          if (path === 'packages/tokenlib/src/opentelemetry.ts' && name === '@opentelemetry/api') return false
          const framework = FRAMEWORKS.exec(path)?.[1]
          if (framework === 'nest') return !/^(?:@nestjs\/(?:common|core)|rxjs)$/.test(name)
          return name !== framework || !isType
        })
        .map(({ name }) => `${path}: ${name}`),
    )
    expect(strangers).toEqual([])
    // The search sees what it looks for.
    expect(importsOf("import { a } from 'evil'\nimport 'worse'\nexport * from \"worst\"")).toHaveLength(3)
    const seen = new Set(FILES.flatMap(({ text }) => importsOf(text).map(({ name }) => name)))
    for (const name of ['cookie-es', '@standard-schema/spec', '@nestjs/common', 'koa', 'node:crypto']) {
      expect(seen).toContain(name)
    }
  })

  ownAttack('no file can load code, start a program or open a connection', () => {
    const DANGEROUS =
      /^node:(?:child_process|cluster|dgram|dns|http2?|https|inspector|module|net|tls|vm|worker_threads|repl)/
    // The contract suites visit the address that a test gives them. A client sends the requests of
    // its page, and loads the part for sockets: below, that nothing but these files can.
    const visitors = [
      'packages/client/src/options.ts',
      'packages/client/src/outages.ts',
      'packages/client/src/token-client.ts',
      'packages/client/src/token-socket.ts',
    ]
    const isVisitor = (path: string): boolean =>
      path.startsWith('packages/contracts/') || visitors.includes(path)
    for (const { path, text: whole } of FILES.filter((file) => !isVisitor(file.path))) {
      // Each of these once, and nothing else of its kind.
      const allowed = EXCEPTIONS[path] ?? []
      const text = allowed.reduce((left, call) => left.replace(call, ''), whole)
      expect(whole.length - text.length, path).toBe(allowed.join('').length)
      const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'/gm, '')
      const opened = importsOf(text).filter(({ name, isType }) => DANGEROUS.test(name) && !isType)
      expect(opened, path).toEqual([])
      expect(code, path).not.toMatch(
        /\beval\s*\(|new Function\b|(?<!\.)\brequire\s*\(\s*\)|\bimport\s*\(|createRequire/,
      )
      // With a type behind it, `fetch(…)` is the method of a Durable Object or of its stub.
      const calls = code.replaceAll(/\bfetch\([^()]*\): Promise/g, '')
      expect(calls, path).not.toMatch(
        /(?<![.\w])fetch\s*\(|globalThis\.fetch|XMLHttpRequest|new \(?WebSocket|getBuiltinModule|process\.binding/,
      )
    }
    // The client itself: one global `fetch`, used as a default, no module, and nothing is sent when it is loaded.
    const client = FILES.filter((file) => file.package === 'client')
    expect(
      client.flatMap(({ text }) => importsOf(text)).filter(({ name }) => !name.startsWith('./')),
    ).toEqual([])
    // Two parts are loaded at run time, each a file of its own.
    const texts = client
      .map(({ text }) => text.replace(/import\('\.\/(?:socket|stored-tokens)\.js'\)/, ''))
      .join('\n')
    expect(texts.match(/globalThis\.fetch/g)).toHaveLength(1)
    expect(texts).not.toMatch(
      /XMLHttpRequest|\beval\s*\(|new Function\b|\bimport\s*\(|localStorage|sessionStorage/,
    )
  })
})
