import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { LeakCounts } from './leak-record.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder where every test file leaves what it has compared. */
    readonly leakCounts: string
  }
}

/** What one test file leaves. */
export interface FileCounts extends LeakCounts {
  /** How many leaks were found. */
  readonly leaks: number
}

/** Adds up what the search for leaks has compared in all test files, and says it in one line at the end. */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-leaks-'))
  // To all projects.
  project.vitest.provide('leakCounts', folder)
  return () => {
    const names = readdirSync(folder)
    const files = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as FileCounts)
    rmSync(folder, { recursive: true })
    console.log(summarize(files))
  }
}

/** One line about all test files. */
export function summarize(files: readonly FileCounts[]): string {
  const sum = (read: (file: FileCounts) => number): string =>
    files.reduce((total, file) => total + read(file), 0).toLocaleString('en')
  const shown = [
    `${sum((file) => file.shown.errors + file.shown['plain errors'])} different errors`,
    `${sum((file) => file.shown.events)} events`,
    `${sum((file) => file.shown['log lines'])} log lines`,
    `${sum((file) => file.shown.objects)} objects`,
  ]
  return (
    `leak search: ${sum(({ texts }) => texts)} texts (of ${shown.join(', ')}) ` +
    `against ${sum(({ secrets }) => secrets)} secrets in ${files.length} test files, ` +
    `${sum(({ leaks }) => leaks)} found`
  )
}
