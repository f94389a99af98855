export { TokenClientError, type TokenClientErrorCode } from './errors.js'
export type {
  ClientClock,
  ClientTimers,
  FetchFunction,
  ProofDelivery,
  TokenClientOptions,
  TokenProof,
  TokenStorage,
} from './options.js'
export type { TokenSocket, TokenSocketData, TokenSocketEvents } from './socket-types.js'
export { createTokenClient } from './token-client.js'
export type { ListedSession, SessionPage, TokenClient, TokenClientEvents, TokenSession } from './types.js'
