import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'
import { bundleWorker, type WorkerProgram } from '../faults/harness/bundle-worker.js'
import type { ApplicationOptions, Calls, Reply } from './protocol.js'

/** The releases that are tested together with the sources as they are. */
export const RELEASES = ['0.1.0'] as const

/** A release, or the sources as they are. */
export type Release = (typeof RELEASES)[number] | 'new'

/** A process of an application. */
export interface Application extends Calls {
  readonly release: Release
  /** Ends it as a deployment does, after what it was asked is answered. */
  stop(): Promise<void>
}

/** The program of an application with each release. */
export interface Programs {
  readonly start: (release: Release, options: ApplicationOptions) => Application
  readonly remove: () => Promise<void>
}

/** Bundles the programs of these releases and of the sources. */
export async function bundlePrograms(releases: readonly Release[] = [...RELEASES, 'new']): Promise<Programs> {
  const built = new Map<Release, WorkerProgram>()
  const folders: string[] = []
  const running = new Set<Application>()
  for (const release of releases) {
    const plugins: Plugin[] = []
    if (release !== 'new') {
      const folder = unpack(release)
      folders.push(folder)
      plugins.push(useRelease(join(folder, 'package', 'dist')))
    }
    built.set(release, await bundleWorker('test/upgrades/application.ts', plugins))
  }

  return {
    start(release, options) {
      const program = built.get(release)
      if (program === undefined) throw new Error(`There is no program of ${release}`)
      const application = startApplication(release, program.path, options)
      running.add(application)
      return application
    },
    async remove() {
      await Promise.all(Array.from(running, (application) => application.stop()))
      for (const { remove } of built.values()) remove()
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url))

// Inside of the repository, so that the packages it imports are found.
function unpack(release: Release): string {
  mkdirSync(join(root, 'build'), { recursive: true })
  const folder = mkdtempSync(join(root, 'build', `release-${release}-`))
  const tarball = join(root, 'test', 'upgrades', `tokenlib-${release}.tgz`)
  execFileSync('tar', ['-xzf', tarball, '-C', folder])
  return folder
}

/** Takes the modules of a release in place of the sources. */
function useRelease(dist: string): Plugin {
  return {
    name: 'release',
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.\/\.\.\/src\// }, ({ path }) => {
        const file = join(dist, path.slice('../../src/'.length))
        // What a release does not have fails when it is used.
        return existsSync(file) ? { path: file } : { path, external: true }
      })
    },
  }
}

function startApplication(release: Release, path: string, options: ApplicationOptions): Application {
  const child = fork(path, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const waiting = new Map<number, (reply: Reply) => void>()
  const ended = once(child, 'exit')
  child.on('exit', () => {
    for (const [id, settle] of waiting) settle({ id, error: 'The process ended' })
    waiting.clear()
  })
  let last = 0
  child.on('message', (reply: Reply) => {
    waiting.get(reply.id)?.(reply)
    waiting.delete(reply.id)
  })
  const ask =
    <Name extends keyof Calls>(name: Name) =>
    (...values: Parameters<Calls[Name]>): ReturnType<Calls[Name]> =>
      new Promise<unknown>((resolve, reject) => {
        const id = ++last
        waiting.set(id, (reply) => {
          if ('error' in reply) reject(new Error(reply.error))
          else resolve(reply.value)
        })
        child.send({ id, name, values })
      }) as ReturnType<Calls[Name]>

  return {
    release,
    logIn: ask('logIn'),
    check: ask('check'),
    refresh: ask('refresh'),
    list: ask('list'),
    sid: ask('sid'),
    logout: ask('logout'),
    revokeToken: ask('revokeToken'),
    revokeSession: ask('revokeSession'),
    revokeUser: ask('revokeUser'),
    revokeKey: ask('revokeKey'),
    revokeAll: ask('revokeAll'),
    async stop() {
      while (waiting.size > 0) await new Promise((resolve) => setImmediate(resolve))
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
