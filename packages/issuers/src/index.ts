export * from './providers.js'
export * from './security-events.js'
export * from './oauth-routes.js'
