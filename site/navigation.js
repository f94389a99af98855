// Every page of docs/, once, in the order of the side bar. A page is named by its path in docs/, without `.md`.
// A group without items is not shown. test/site/navigation.test.ts compares this list with the folder.

/** The groups of the side bar; `folder` stands for all pages of that folder, by name. */
export const NAVIGATION = [
  {
    text: 'Start',
    items: [
      { text: 'Getting started', page: 'getting-started' },
      { text: 'Creating tokens', page: 'creating-tokens' },
      { text: 'Configuration', page: 'configuration' },
      { text: 'Keys', page: 'keys' },
      { text: 'Errors', page: 'errors' },
      { text: 'Testing', page: 'testing' },
    ],
  },
  {
    text: 'Requests',
    items: [
      { text: 'Reading tokens', page: 'reading-tokens' },
      { text: 'Dependencies', page: 'dependencies' },
      { text: 'Claims', page: 'claims' },
      { text: 'Subjects', page: 'subjects' },
      { text: 'Cookies and CSRF', page: 'cookies-and-csrf' },
      { text: 'WebSockets', page: 'websockets' },
      { text: 'OpenAPI', page: 'openapi' },
    ],
  },
  {
    text: 'Frameworks',
    items: [
      { text: 'NestJS', page: 'nest' },
      { text: 'Fastify', page: 'fastify' },
      { text: 'Express', page: 'express' },
      { text: 'Hono', page: 'hono' },
      { text: 'Koa', page: 'koa' },
      { text: 'h3', page: 'h3' },
      { text: 'Elysia', page: 'elysia' },
      { text: 'Fetch handlers', page: 'fetch' },
      { text: 'Next.js', page: 'next' },
      { text: 'SvelteKit', page: 'sveltekit' },
      { text: 'React Router', page: 'react-router' },
      { text: 'Nuxt and Nitro', page: 'nuxt' },
      { text: 'AWS Lambda', page: 'lambda' },
      { text: 'Writing an adapter', page: 'writing-an-adapter' },
      { text: 'Adapter kit', page: 'adapter-kit' },
    ],
  },
  {
    text: 'Revocation and sessions',
    items: [
      { text: 'Revocation', page: 'revocation' },
      { text: 'Sessions', page: 'sessions' },
      { text: 'Browser sessions', page: 'browser-sessions' },
      { text: 'Session routes', page: 'session-routes' },
      { text: 'Client', page: 'client' },
      { text: 'Server-rendered pages', page: 'server-rendered-pages' },
      { text: 'Introspection and metadata', page: 'oauth-routes' },
    ],
  },
  {
    text: 'Stores',
    items: [
      { text: 'Memory', page: 'stores/memory' },
      { text: 'SQLite', page: 'stores/sqlite' },
      { text: 'Redis', page: 'stores/redis' },
      { text: 'PostgreSQL', page: 'stores/postgres' },
      { text: 'Durable Objects', page: 'stores/durable-objects' },
      { text: 'Replica', page: 'stores/replica' },
      { text: 'Writing a store', page: 'writing-a-store' },
      { text: 'Store kit', page: 'store-kit' },
    ],
  },
  {
    text: 'Identity providers',
    items: [
      { text: 'Keycloak, Auth0, Okta, Entra, Cognito', page: 'identity-providers' },
      { text: 'Functions for providers', page: 'providers' },
      { text: 'Tokens of other issuers', page: 'issuers' },
      { text: 'Keys of issuers', page: 'issuer-keys' },
      { text: 'Revocation from outside', page: 'security-events' },
    ],
  },
  {
    text: 'Migration guides',
    items: [
      { text: 'How to migrate', page: 'migrations/index' },
      { text: '@nestjs/jwt and passport-jwt', page: 'migrations/nestjs-jwt-passport' },
      { text: 'express-jwt', page: 'migrations/express-jwt' },
      { text: '@fastify/jwt', page: 'migrations/fastify-jwt' },
      { text: 'hono/jwt', page: 'migrations/hono-jwt' },
      { text: 'jsonwebtoken', page: 'migrations/jsonwebtoken' },
      { text: 'AuthX', page: 'migrations/authx' },
      { text: 'flask-jwt-extended', page: 'migrations/flask-jwt-extended' },
    ],
  },
  {
    text: 'Recipes',
    items: [
      { text: 'Log in elsewhere', page: 'recipes/log-in-elsewhere' },
      { text: 'better-auth', page: 'recipes/better-auth' },
      { text: 'Tenants', page: 'recipes/multi-tenant' },
      { text: 'Mobile and native clients', page: 'recipes/mobile-and-native' },
      { text: 'Service to service', page: 'recipes/service-to-service' },
      { text: 'Impersonation', page: 'recipes/impersonation' },
      { text: 'Step-up', page: 'recipes/step-up' },
      { text: 'API keys', page: 'recipes/api-keys' },
      { text: 'Rate limiting', page: 'recipes/rate-limiting' },
      { text: 'GraphQL', page: 'recipes/graphql' },
    ],
  },
  {
    text: 'Operation',
    items: [
      { text: 'Running in production', page: 'production' },
      { text: 'Upgrading', page: 'upgrading' },
      { text: 'Command line', page: 'command-line' },
      { text: 'doctor', page: 'doctor' },
      { text: 'OpenTelemetry', page: 'opentelemetry' },
      { text: 'Events', page: 'events' },
      { text: 'Audit log', page: 'audit-log' },
      { text: 'Console', page: 'console' },
    ],
  },
  {
    text: 'Runtimes',
    items: [
      { text: 'What works where', page: 'runtimes' },
      { text: 'Bun', page: 'bun' },
      { text: 'Deno', page: 'deno' },
      { text: 'Cloudflare Workers', page: 'workers' },
    ],
  },
  {
    text: 'Project',
    items: [
      { text: 'API', page: 'api' },
      { text: 'Releases and supported versions', page: 'releases' },
      { text: 'Browser evidence', page: 'browser-evidence' },
      { text: 'Specification map', page: 'spec-map' },
      { text: 'Decisions', folder: 'decisions' },
    ],
  },
]
