import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A source file of one of the packages. */
export interface LibraryFile {
  /** The folder of its package, as in `tokenlib` or `client`. */
  readonly package: string
  /** From the root of the repository, with `/`, as in `packages/client/src/index.ts`. */
  readonly path: string
  readonly text: string
}

/** The folder of all packages, with a separator at its end. */
export const PACKAGES = fileURLToPath(new URL('../../packages/', import.meta.url))

let files: readonly LibraryFile[] | undefined

/** The source of all packages, without what a script makes from other files. */
export function readLibraryFiles(): readonly LibraryFile[] {
  return (files ??= readdirSync(PACKAGES).flatMap((name) =>
    readdirSync(join(PACKAGES, name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.generated.ts'))
      .map((path) => ({
        package: name,
        path: `packages/${name}/src/${path.replaceAll('\\', '/')}`,
        text: readFileSync(join(PACKAGES, name, 'src', path), 'utf8'),
      })),
  ))
}
