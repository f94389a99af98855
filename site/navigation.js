// Every page of docs/, once, in the order of the side bar. A page is named by its path in docs/, without `.md`.
// A group without items is not shown. test/site/navigation.test.ts compares this list with the folder.

/** The groups of the side bar; `folder` stands for all pages of that folder, by name. */
export const NAVIGATION = [
  {
    text: 'Start',
    items: [
      { text: 'Getting started', page: 'getting-started' },
      { text: 'Tutorial: NestJS', page: 'tutorials/nest' },
      { text: 'Tutorial: Hono', page: 'tutorials/hono' },
      { text: 'Configuration', page: 'configuration' },
      { text: 'Errors', page: 'errors' },
      { text: 'Testing', page: 'testing' },
    ],
  },
  {
    text: 'Tokens',
    items: [
      { text: 'Creating tokens', page: 'creating-tokens' },
      { text: 'Keys', page: 'keys' },
      { text: 'Dependencies', page: 'dependencies' },
      { text: 'Cookies and CSRF', page: 'cookies-and-csrf' },
      { text: 'WebSockets', page: 'websockets' },
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
      { text: 'h3, Nitro and Nuxt', page: 'h3' },
      { text: 'Elysia', page: 'elysia' },
      { text: 'Fetch, Astro, TanStack Start', page: 'fetch' },
      { text: 'Next.js', page: 'next' },
      { text: 'SvelteKit', page: 'sveltekit' },
      { text: 'React Router', page: 'react-router' },
      { text: 'Your own adapter or store', page: 'extending' },
    ],
  },
  {
    text: 'Sessions and revocation',
    items: [
      { text: 'Revocation', page: 'revocation' },
      { text: 'Mistakes that turn it off', page: 'mistakes' },
      { text: 'Sessions', page: 'sessions' },
      { text: 'Rotation', page: 'rotation' },
      { text: 'Stolen tokens', page: 'stolen-tokens' },
      { text: 'Session routes', page: 'session-routes' },
      { text: 'Client', page: 'client' },
      { text: 'React and Vue', page: 'react-and-vue' },
      { text: 'Mobile apps', page: 'mobile' },
      { text: 'Server-rendered pages', page: 'server-rendered-pages' },
    ],
  },
  {
    text: 'Stores',
    items: [
      { text: 'Which store', page: 'stores/index' },
      { text: 'SQLite', page: 'stores/sqlite' },
      { text: 'Redis and Valkey', page: 'stores/redis' },
      { text: 'Managed Redis', page: 'stores/managed-redis' },
      { text: 'PostgreSQL', page: 'stores/postgres' },
      { text: 'MySQL and MariaDB', page: 'stores/mysql' },
      { text: 'Drizzle, Kysely, Prisma, TypeORM', page: 'stores/sql-clients' },
      { text: 'Replica', page: 'stores/replica' },
    ],
  },
  {
    text: 'Identity providers',
    items: [
      { text: 'Keycloak, Auth0, Okta, Entra, Cognito', page: 'identity-providers' },
      { text: 'Logout from outside', page: 'security-events' },
      { text: 'Tokens of other issuers', page: 'issuers' },
      { text: 'Log in elsewhere', page: 'recipes/log-in-elsewhere' },
    ],
  },
  {
    text: 'Migrations',
    items: [
      { text: 'How to migrate', page: 'migrations/index' },
      { text: 'From a JWT library', page: 'migrations/jwt-libraries' },
      { text: 'From Python', page: 'migrations/python' },
      { text: 'From Auth.js, SuperTokens or Supabase', page: 'migrations/auth-services' },
    ],
  },
  {
    text: 'Recipes',
    items: [
      { text: 'Multi-tenant applications', page: 'recipes/multi-tenant' },
      { text: 'Service to service', page: 'recipes/service-to-service' },
      { text: 'Impersonation', page: 'recipes/impersonation' },
      { text: 'Step-up', page: 'recipes/step-up' },
      { text: 'Rate limiting', page: 'recipes/rate-limiting' },
      { text: 'GraphQL and tRPC', page: 'recipes/graphql-and-trpc' },
      { text: 'MCP', page: 'recipes/mcp' },
    ],
  },
  {
    text: 'Operation',
    items: [
      { text: 'Running in production', page: 'production' },
      { text: 'How large can it get?', page: 'scale' },
      { text: 'Command line', page: 'command-line' },
      { text: 'Events', page: 'events' },
      { text: 'OpenTelemetry', page: 'opentelemetry' },
      { text: 'Console', page: 'console' },
      { text: 'What works where', page: 'runtimes' },
      { text: 'Cloudflare Workers', page: 'workers' },
    ],
  },
  {
    text: 'Project',
    items: [
      { text: 'How it is tested', page: 'how-it-is-tested' },
      { text: 'Decisions', folder: 'decisions' },
    ],
  },
]
