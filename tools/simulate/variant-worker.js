// Tries variants that its parent names, one at a time, and answers with the number of seeds until a promise was broken.
import { pathToFileURL } from 'node:url'

const [bundle, most, processes, seconds] = process.argv.slice(2)
// Where Stryker's switches look.
const stryker = { activeMutant: undefined }
Object.assign(globalThis, { __stryker__: stryker })
const { runWorld } = await import(pathToFileURL(bundle).href)

let reject = () => {}
process.on('unhandledRejection', (error) => reject(error))
process.on('uncaughtException', (error) => reject(error))

process.on('message', (id) => {
  stryker.activeMutant = id
  void search().then((result) => process.send(result))
})
process.send('ready')

async function search() {
  for (let seed = 1; seed <= Number(most); seed++) {
    try {
      const broken = new Promise((_resolve, rejectWorld) => (reject = rejectWorld))
      const world = runWorld({
        seed: `variant ${seed}`,
        processes: Number(processes),
        seconds: Number(seconds),
      })
      const { violations } = await Promise.race([world, broken])
      if (violations.length > 0) return { seeds: seed, by: violations[0].promised }
    } catch (error) {
      return { seeds: seed, by: `the process fails: ${String(error).slice(0, 80)}` }
    }
  }
  return { seeds: null, by: null }
}
