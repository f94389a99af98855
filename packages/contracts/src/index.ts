export {
  applicationContract,
  type ContractRunner,
  type RunningApplication,
  type StartApplication,
} from './application-contract.js'
export { storeContract } from './store-contract.js'
export type { StoreUnderTest } from './store-fixture.js'
export { sessionRoutesContract, type StartSessionRoutes } from './session-routes-contract.js'
export type { SessionRoutesSetup } from './session-routes-setup.js'
