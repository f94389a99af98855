export { createFrozenClock, type FrozenClock } from './test-tokens.js'
export { createTestTokens, type MintOptions, type TestTokens, type TestTokensOptions } from './test-tokens.js'
