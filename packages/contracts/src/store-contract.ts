import type { ContractRunner } from './application-contract.js'
import { claimContract } from './claim-contract.js'
import { dataContract, noDataContract } from './data-contract.js'
import { feedContract, lostDataContract } from './feed-contract.js'
import { limitContract, noLimitContract } from './limit-contract.js'
import { limitRaceContract } from './limit-race-contract.js'
import { listContract } from './list-contract.js'
import {
  lookupContract,
  noSynchronousContract,
  revocationContract,
  synchronousContract,
} from './revocation-contract.js'
import {
  noWatchContract,
  restoreAfterLossContract,
  restoreContract,
  watchContract,
} from './restore-contract.js'
import { presentContract, rotationContract } from './rotation-contract.js'
import { sessionContract } from './session-contract.js'
import { noSpendContract, spendContract } from './spend-contract.js'
import { type StoreTests, type StoreUnderTest, withFixture } from './store-fixture.js'
import { watermarkContract, wrongClockContract } from './watermark-contract.js'

/** Everything a revocation store promises; a new store's own test is this call. */
export function storeContract(name: string, kind: StoreUnderTest, runner: ContractRunner): void {
  const tests: StoreTests = {
    isShared: kind.isShared,
    canCount: kind.count !== undefined,
    test: (title, run) => runner.test(title, () => withFixture(kind, run)),
  }
  runner.describe(`${name}: revocations`, () => revocationContract(tests))
  runner.describe(`${name}: claims`, () => claimContract(tests))
  runner.describe(`${name}: lookups`, () => {
    lookupContract(tests)
    if (kind.checksSynchronously === true) synchronousContract(tests)
    else noSynchronousContract(tests)
  })
  runner.describe(`${name}: watermarks`, () => watermarkContract(tests))
  runner.describe(`${name}: sessions of a wrong clock`, () => wrongClockContract(tests))
  runner.describe(`${name}: feed`, () => feedContract(tests))
  runner.describe(`${name}: sessions`, () => sessionContract(tests))
  runner.describe(`${name}: pages of sessions`, () => listContract(tests))
  runner.describe(`${name}: a limit of sessions`, () => {
    if (kind.limitsSessions !== true) return noLimitContract(tests)
    limitContract(tests)
    limitRaceContract(tests)
  })
  runner.describe(`${name}: data of sessions`, () => {
    if (kind.keepsData === true) dataContract(tests)
    else noDataContract(tests)
  })
  runner.describe(`${name}: spent ids`, () => {
    if (kind.spends === true) spendContract(tests)
    else noSpendContract(tests)
  })
  runner.describe(`${name}: rotation`, () => rotationContract(tests))
  runner.describe(`${name}: presentation`, () => presentContract(tests))
  if (kind.isReplicable === true) {
    runner.describe(`${name}: replication`, () => {
      restoreContract(tests)
      if (kind.isWatchable ?? true) watchContract(tests)
      else noWatchContract(tests)
      if (kind.wipe !== undefined) restoreAfterLossContract(tests)
    })
  }
  if (kind.wipe !== undefined) runner.describe(`${name}: lost data`, () => lostDataContract(tests))
}
