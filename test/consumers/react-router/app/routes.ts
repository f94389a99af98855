import { index, route, type RouteConfig } from '@react-router/dev/routes'

export default [
  index('routes/home.tsx'),
  route('login', 'routes/login.tsx'),
  route('logout', 'routes/logout.ts'),
  route('account', 'routes/account.tsx'),
  route('api/me', 'routes/me.ts'),
] satisfies RouteConfig
