import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { commonTokens, declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'

const INTERVAL_MS = 15_000

/**
 * Writes the results so far into the file that Stryker starts its next run from.
 *
 * Stryker itself writes that file at the end only, so an interrupted run would start again.
 */
class Checkpoint {
  static inject = [commonTokens.options]
  #file
  #tests = []
  #results = []
  #known = 0
  #writtenAt = Date.now()

  constructor({ incrementalFile }) {
    this.#file = incrementalFile
    if (!existsSync(incrementalFile)) return
    const { files } = JSON.parse(readFileSync(incrementalFile, 'utf8'))
    this.#known = Object.values(files).flatMap(({ mutants }) => mutants).length
  }

  onDryRunCompleted({ result }) {
    this.#tests = result.tests
  }

  onMutantTested(result) {
    this.#results.push(result)
    // Results of the last run come in one by one too, and are not lost before they are all here.
    if (this.#results.length < this.#known || Date.now() - this.#writtenAt < INTERVAL_MS) return
    this.#write()
    this.#writtenAt = Date.now()
  }

  // In the form of Stryker's own report.
  #write() {
    const report = { schemaVersion: '1.0', isPartial: true, files: {}, testFiles: {} }
    for (const { fileName, ...mutant } of this.#results) {
      const file = (report.files[relative('', fileName)] ??= { ...describe(fileName), mutants: [] })
      file.mutants.push(mutant)
    }
    for (const { id, name, fileName } of this.#tests) {
      const file = (report.testFiles[relative('', fileName)] ??= { ...describe(fileName), tests: [] })
      file.tests.push({ id, name })
    }
    writeFileSync(`${this.#file}.new`, JSON.stringify(report))
    renameSync(`${this.#file}.new`, this.#file)
  }
}

function describe(fileName) {
  return { language: 'typescript', source: readFileSync(fileName, 'utf8') }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, 'checkpoint', Checkpoint)]
